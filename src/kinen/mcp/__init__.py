"""The MCP server: kinen's memory as tools that agents call."""
