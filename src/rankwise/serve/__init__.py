"""A model behind HTTP: `rankwise serve MODEL`.

item_rows        items of a request as the matrix of the model
served_model     rank, explain and describe, without any HTTP
model_watch      the model of a file that may be replaced while requests run
request_bodies   JSON and NDJSON within limits
traffic          counters for /metrics
application      the addresses, their answers and errors
server           sockets, signals, an orderly stop
page/            the page at /: HTML, style and script, which load nothing from elsewhere
"""
