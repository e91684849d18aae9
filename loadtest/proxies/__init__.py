"""The proxies of config/proxy, over HTTPS."""
