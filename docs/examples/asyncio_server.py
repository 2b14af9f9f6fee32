"""An asyncio server without a web framework. Its clients stay, so connections are what counts:

python asyncio_server.py 9000 9001
"""

import asyncio
import os
import sys

from deletion_cost import ConnectionTracker, DeletionCostReporter, ReporterSettings

tracker = ConnectionTracker()


@tracker.connection()
async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send each line back; every line is a request of its own."""
    while line := await reader.readline():
        async with tracker.request():
            writer.write(line)
            await writer.drain()
    writer.close()


async def main(port: int, endpoint_port: int) -> None:
    """Serve clients on one port and the load on another."""
    endpoint = tracker.serve(endpoint_port)
    # Only where no controller asks for the load: with it, the server writes the cost of its own pod.
    reporter = DeletionCostReporter(tracker, ReporterSettings(measure="connections"))
    reporting = asyncio.create_task(reporter.run()) if os.environ.get("REPORT_DELETION_COST") == "yes" else None
    try:
        async with await asyncio.start_server(serve, port=port) as server:
            await server.serve_forever()
    finally:
        endpoint.stop()
        if reporting is not None:
            reporting.cancel()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
