from __future__ import annotations

from django.urls import path

from apps.threads import chat_views as chats
from apps.threads import file_views as files
from apps.threads import views

urlpatterns = [
    path("v1/threads", views.Threads.as_view()),
    path("v1/threads/<str:id>", views.Thread.as_view()),
    path("v1/threads/<str:id>/messages", views.Messages.as_view()),
    path("v1/threads/<str:id>/working", views.Working.as_view()),
    path("v1/threads/<str:id>/cancel", views.Cancel.as_view()),
    path("v1/chats", chats.Chats.as_view()),
    path("v1/chats/<str:id>", chats.Chat.as_view()),
    path("v1/chats/<str:id>/messages", chats.History.as_view()),
    path("v1/chats/<str:id>/files", files.ChatFiles.as_view()),
    path("v1/chats/<str:id>/read", chats.Read.as_view()),
    path("v1/chats/<str:id>/join", chats.Join.as_view()),
    path("v1/chats/<str:id>/leave", chats.Leave.as_view()),
    path("v1/chats/<str:id>/invite", chats.Invite.as_view()),
    path("v1/chats/<str:id>/remove", chats.Remove.as_view()),
    path("v1/files/<str:id>", files.File.as_view()),
    path("v1/files/<str:id>/content", files.FileContent.as_view()),
    path("v1/messages/<str:id>", chats.Message.as_view()),
    path("v1/invites", chats.Invites.as_view()),
    path("v1/invites/<str:id>/accept", chats.AcceptInvite.as_view()),
    path("v1/invites/<str:id>/decline", chats.DeclineInvite.as_view()),
    path("v1/search", chats.Search.as_view()),
]
