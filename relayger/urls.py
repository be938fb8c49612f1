"""Django's addresses; what waits or streams is routed before them in `relayger.asgi`."""

from __future__ import annotations

from apps.contacts import urls as contacts
from apps.directory import urls as directory
from apps.identities import urls as identities
from apps.inbox import urls as inbox
from apps.lifecycle import urls as lifecycle
from apps.threads import urls as threads
from apps.web import urls as web

# Each app's patterns are whole paths, joined flat: one look-up, and each address can be searched for.
urlpatterns = [
    *identities.urlpatterns,
    *directory.urlpatterns,
    *contacts.urlpatterns,
    *lifecycle.urlpatterns,
    *inbox.urlpatterns,
    *threads.urlpatterns,
    *web.urlpatterns,
]

handler400 = "apps.core.rest.handler400"
handler404 = "apps.core.rest.handler404"
handler500 = "apps.core.rest.handler500"
