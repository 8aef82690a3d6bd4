import { createEngine, type Engine, task } from 'waitpoint'
import { createConsole } from 'waitpoint/console'
import { createHandler } from 'waitpoint/http'
import type { Figure, Lab } from '../lab.ts'
import type { Measurement } from '../measurement.ts'
import { PostgresBed, serveWhile, storageOfSchema } from '../postgres-bed.ts'

const CHANGES = 40
const NS_PER_MS = 1e6
const NS_OF_THE_GOAL = 300 * NS_PER_MS
const TAG = 'told'
const SECRET = 'tr_dev_told'

const later = task({ id: 'later', run: () => 0 })
const asks = task({
  id: 'asks',
  run: async (_payload: null, { wait }) => wait.forToken(await wait.createToken({ tags: [TAG] })),
})
const report = task({ id: 'report', schedule: {}, run: () => 0 })

/** What a reader of the engine that looks is shown: at first, and after each wake-up. */
type Surface = (looker: Engine) => AsyncGenerator<string>

interface Row {
  readonly what: string
  readonly surface: Surface
  /** A change by the other engine; resolves with a text that shows it. */
  readonly change: (other: Engine, at: number) => Promise<string>
}

const ROWS: readonly Row[] = [
  {
    what: 'token of no run → wait.subscribeToTokens',
    surface: tokenList,
    change: async (other) => (await other.wait.createToken({ tags: [TAG] })).id,
  },
  {
    what: 'token of a run that waits → wait.subscribeToTokens',
    surface: tokenList,
    change: async (other) => {
      const run = await other.trigger(asks, null)
      return `of ${run.id}`
    },
  },
  {
    what: 'token of no run → page of the console',
    surface: consolePage,
    change: async (other) => (await other.wait.createToken({ tags: [TAG] })).id,
  },
  {
    what: 'run that is put off → runs of a tag over HTTP',
    surface: runList,
    change: async (other) => (await other.trigger(later, undefined, { tags: [TAG], delay: '1h' })).id,
  },
  {
    what: 'run that is executed → runs of a tag over HTTP',
    surface: runList,
    change: async (other) => {
      const run = await other.trigger(later, undefined, { tags: [TAG] })
      await run.result()
      return `${run.id} COMPLETED`
    },
  },
  {
    what: 'limit of a queue → page of the console',
    surface: consolePage,
    change: async (other, at) => {
      await other.queue('later').setLimit(1_000 + at)
      return `limit ${1_000 + at}`
    },
  },
  {
    what: 'schedule that is created → page of the console',
    surface: consolePage,
    change: async (other, at) => {
      const { id } = await other.schedules.create({
        task: 'report',
        cron: '@daily',
        deduplicationKey: `k${at}`,
      })
      return id
    },
  },
]

/** How long a change by an engine of one process takes to be shown by one of another process, on Postgres. */
export const told: Figure = {
  name: 'told',
  contests: [],
  measure: (lab) =>
    serveWhile(async () => {
      const measurements: Measurement[] = []
      for (const row of ROWS) measurements.push(await measureRow(lab, row))
      const values = measurements.map(({ ours }) => ours.values[0] ?? NaN)
      const [{ count } = { count: 0 }] = measurements
      return [
        lineOf('slowest list, in another process on Postgres, p95', count, Math.max(...values)),
        ...measurements,
      ]
    }),
}

async function measureRow(lab: Lab, { what, surface, change }: Row): Promise<Measurement> {
  const count = lab.count(CHANGES)
  const bed = new PostgresBed()
  const options = { tasks: [later, asks, report], secretKey: SECRET }
  const other = createEngine({ ...options, storage: bed.storage() })
  const looker = createEngine({ ...options, storage: storageOfSchema(bed.schema), execute: false })
  try {
    await Promise.all([other.ready(), looker.ready()])
    const shown = surface(looker)
    await shown.next()
    const values: number[] = []
    for (let at = 0; at < count; at++) {
      const began = performance.now()
      const text = await change(other, at)
      while (!String((await shown.next()).value).includes(text)) continue
      values.push((performance.now() - began) * NS_PER_MS)
    }
    await shown.return(undefined)
    const p95 = values.toSorted((one, other) => one - other)[Math.ceil(0.95 * count) - 1] ?? 0
    return lineOf(`  ${what}`, count, p95)
  } finally {
    await Promise.all([other.close(), looker.close()])
    await bed.close()
  }
}

function lineOf(what: string, count: number, ns: number): Measurement {
  return { what, unit: 'ns', count, ours: { values: [ns] }, goal: { kind: 'value', most: NS_OF_THE_GOAL } }
}

async function* tokenList(looker: Engine): AsyncGenerator<string> {
  for await (const list of looker.wait.subscribeToTokens({ tags: [TAG] }))
    yield list.map(({ id, runId }) => `${id} of ${runId}`).join()
}

async function* consolePage(looker: Engine): AsyncGenerator<string> {
  const handler = createConsole(looker, { authorize: () => true })
  const leaving = new AbortController()
  const { body } = await handler(new Request('http://localhost/events', { signal: leaving.signal }))
  try {
    for await (const text of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
      if (!text.startsWith('retry') && !text.includes('changed')) continue
      const [tokens, queues] = [await looker.wait.listTokens(), await looker.queues()]
      const ids = [...tokens.data, ...(await looker.schedules.list())].map(({ id }) => id)
      yield [...ids, ...queues.map(({ limit = 0 }) => `limit ${limit}`)].join()
    }
  } finally {
    leaving.abort()
  }
}

interface ShapeMessage {
  readonly value?: { readonly friendlyId?: string; readonly status?: string }
}

async function* runList(looker: Engine): AsyncGenerator<string> {
  const handler = createHandler(looker)
  const headers = { authorization: `Bearer ${SECRET}`, 'x-trigger-electric-version': '1.0.0-beta.1' }
  let next = 'offset=-1'
  for (;;) {
    const url = `http://localhost/realtime/v1/runs?tags=${TAG}&log=full&${next}`
    const answer = await handler(new Request(url, { headers }))
    const said = (name: string): string => answer.headers.get(name) ?? ''
    next = `handle=${said('electric-handle')}&live=true&offset=${said('electric-offset')}`
    const messages = (await answer.json()) as readonly ShapeMessage[]
    yield messages.map(({ value }) => `${value?.friendlyId} ${value?.status}`).join()
  }
}
