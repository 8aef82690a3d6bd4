import { existsSync, readFileSync } from 'node:fs'
import { createClient } from '../../../client/client.ts'
import { messageOf } from '../../../primitives/message.ts'
import type { TriggerOptions } from '../../../api/run.ts'
import { WaitpointError } from '../../../api/errors.ts'
import type { CliCommand } from '../../command.ts'
import { EXIT, UsageError } from '../../exit.ts'
import { type Given, nearest, quote } from '../../given.ts'
import type { Terminal } from '../../output/terminal.ts'
import { present } from '../../present.ts'
import { MOST_PRIORITY_S } from '../../../api/trigger-options.ts'
import { mayBeExecuted, newestRun, type OutsideRun, triggerOutside } from '../../reach/outside-runs.ts'
import { PLACE_OPTIONS, type RunsPlace, readPlace, tasksFileOf } from '../../reach/place.ts'
import { reaching } from '../../reach/reach.ts'

/** `waitpoint runs trigger`. */
export const triggerRun: CliCommand = {
  name: 'runs trigger',
  summary: 'start a run of a task',
  words: [{ name: 'task', says: 'the id of a task' }],
  options: {
    ...PLACE_OPTIONS,
    payload: { value: '<json>', says: 'what the task is given; - reads it from the standard input' },
    delay: { value: '<duration>', says: 'start it later: 30s, 2h' },
    ttl: { value: '<duration>', says: 'give it up when it has not started by then' },
    tag: { value: '<tag>', isRepeatable: true, says: 'a tag of the run' },
    queue: { value: '<name>', says: 'the queue that it waits in (default: that of the task)' },
    priority: { value: '<seconds>', says: 'start it as if it had been triggered so much earlier' },
    'idempotency-key': { value: '<key>', says: 'used again, it finds the run that it named first' },
    'new-task': { says: 'trigger a task that has no run yet in this storage, and that dev has not loaded' },
  },
  about:
    'In a storage the run is stored, and an app that has the task executes it: the app checks the payload then. Its queue is that of the newest run of the task, else what dev says.',
  async run(given, terminal) {
    const taskId = given.word('task')
    const place = readPlace(given, terminal.env)
    const payload = readPayload(given)
    const queue = given.option('queue')
    const options = present({
      delay: given.duration('delay'),
      ttl: given.duration('ttl'),
      tags: given.list('tag'),
      queue: queue === undefined ? undefined : { name: queue },
      priority: given.whole('priority', { from: 0, to: MOST_PRIORITY_S }),
      idempotencyKey: given.option('idempotency-key'),
    })
    const request = { taskId, payload, options, isNewTask: given.has('new-task') }
    const { id, isCached } = await trigger(place, terminal, request)
    if (given.has('json')) terminal.printJson({ id, isCached })
    else terminal.print(id)
    if (isCached) terminal.note('The idempotency key was used before: this is the run that it named then.')
    return EXIT.ok
  },
}

interface TriggerRequest {
  readonly taskId: string
  readonly payload: unknown
  readonly options: TriggerOptions
  readonly isNewTask: boolean
}

async function trigger(
  place: RunsPlace,
  terminal: Terminal,
  { taskId, payload, options, isNewTask }: TriggerRequest,
): Promise<OutsideRun> {
  if (place.kind === 'http') {
    const client = createClient({ baseUrl: place.url, accessToken: place.key, signal: terminal.signal })
    // Its types are not known here.
    return client.tasks.trigger(taskId, payload, options)
  }
  return reaching(place, terminal, async ({ engine, name }) => {
    if (engine === undefined) throw new Error('Cannot trigger: no storage is open')
    const queues = queuesOfDev(place)
    const queue = (await newestRun(engine, taskId))?.queue ?? queues.get(taskId)
    if (queue === undefined && !isNewTask) {
      const near = nearest(taskId, [...queues.keys()])
      throw new WaitpointError(
        'ERR_TASK_NOT_FOUND',
        `Cannot trigger task ${quote(taskId)}: ${name} has no run of it, and dev has not loaded it there, so the name may be wrong${near === undefined ? '' : ` (did you mean ${quote(near)}?)`}; add --new-task if the task is new`,
      )
    }
    const run = await triggerOutside(engine, taskId, { payload, options, queue })
    if (!(await mayBeExecuted(engine)))
      terminal.note(`No process executes runs of ${name} right now: the run waits until one does.`)
    return run
  })
}

/** The queues of the tasks that `dev` has executed last on this storage, by their ids. */
function queuesOfDev(place: RunsPlace): ReadonlyMap<string, string> {
  const file = place.kind === 'sqlite' ? tasksFileOf(place.path) : undefined
  if (file === undefined || !existsSync(file)) return new Map()
  // `dev` writes it.
  return new Map(Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, string>))
}

function readPayload(given: Given): unknown {
  if (given.option('payload') !== '-') return given.json('payload')
  try {
    return JSON.parse(readFileSync(0, 'utf8')) as unknown
  } catch (error) {
    throw new UsageError(`the payload on the standard input cannot be read: ${messageOf(error)}`)
  }
}
