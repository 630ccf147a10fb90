"""Forwards to birsim."""

from birsim._install import claim

claim(__name__)
