"""A Flask application that tells its load. Any number of workers, whose counts are summed:

gunicorn --workers 4 --threads 8 --bind 0.0.0.0:8000 flask_gunicorn:app
"""

import os

from flask import Flask

from deletion_cost import ConnectionTracker, DeletionCostReporter

tracker = ConnectionTracker()
app = Flask(__name__)
# Counts every request until its body is sent, and answers GET /deletion-cost.
app.wsgi_app = tracker.wsgi(app.wsgi_app)

cache: dict[str, str] = {}


@app.get("/square/<int:number>")
def square(number: int) -> str:
    """Answer from the cache where that is possible, and tell the tracker."""
    if str(number) in cache:
        tracker.cache_hit()
    else:
        tracker.cache_miss()
        cache[str(number)] = str(number * number)
    return cache[str(number)]


# Only where no controller asks for the load: with it, one worker writes the cost of its own pod.
if os.environ.get("REPORT_DELETION_COST") == "yes":
    DeletionCostReporter(tracker).start()
