import type { Run } from '../../api/run.ts'
import { ApiError } from '../connection/api-error.ts'
import type { Transport } from '../connection/transport.ts'
import { followRun, FollowedRun, type Part } from './followed-run.ts'
import { readEvents } from './read-events.ts'
import { RunEvents } from './run-events.ts'
import type { WatchedRun } from './run-updates.ts'

/** Services that have no route for a run and its streams as one sequence of events. */
const withoutEvents = /* @__PURE__ */ new WeakSet<Transport>()

/**
 * A run and all its streams as one sequence, over one connection: of a browser, six reach one server. Of a service that has
 * no route for it, such as the hosted one, the run and each of its streams are read over connections of their own.
 */
export async function* runParts(watched: WatchedRun): AsyncGenerator<Part> {
  const areEvents = yield* eventParts(watched, new RunEvents(watched.id))
  if (!areEvents) yield* new FollowedRun(watched).parts()
}

/**
 * A run as it changes, until it has ended, over a connection that shows every few seconds that it is alive. A service that
 * has no route for it is asked with long polls.
 */
export async function* runStates(watched: WatchedRun): AsyncGenerator<Run> {
  const parts = eventParts(watched, new RunEvents(watched.id, { hasStreams: false }))
  for (;;) {
    const { done, value } = await parts.next()
    if (done === true) {
      if (!value) yield* followRun(watched)
      return
    }
    // A service that does not know the parameter sends the chunks as well.
    if (value.type === 'run') yield value.run
  }
}

/** The parts of a run. Returns false if the service has no route for them. */
async function* eventParts(watched: WatchedRun, events: RunEvents): AsyncGenerator<Part, boolean> {
  const { transport } = watched
  if (withoutEvents.has(transport)) return false
  try {
    yield* readEvents(transport, events, watched)
    return true
  } catch (error) {
    if (events.hasBegun || !isMissingRoute(error)) throw error
    withoutEvents.add(transport)
    return false
  }
}

/** Services answer an unknown address with 404 or 405, with a page of theirs, or with a redirect to one. */
function isMissingRoute(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  const { status = 500 } = error
  return status < 400 || status === 404 || status === 405
}
