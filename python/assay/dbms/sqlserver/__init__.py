"""SQL Server by connection string: the same TPC-H, and the settings that the studies used.

It was written from documentation and tried against a stand-in: *not verified against a server*. Every record says so.
"""
