"""Which identities can be found."""
