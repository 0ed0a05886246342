"""Requests, responses and error messages that the MCP tools and the HTTP endpoints share."""
