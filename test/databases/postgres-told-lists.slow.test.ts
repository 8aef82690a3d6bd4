import { describe, expect, it } from 'vitest'
import { createEngine, type Engine, systemClock, task, wait } from 'waitpoint'
import { createHandler } from 'waitpoint/http'
import { postgresStorage } from 'waitpoint/postgres'
import { testClock, type TestClock } from 'waitpoint/testing'
import type { Hint } from '../../src/contract/storage.ts'
import { KEY, Visitor } from '../console/visitor.ts'
import { Subscriber } from '../http/shape-subscriber.ts'
import { turn } from '../support/turn.ts'
import { schemaOfTest } from './postgres/fresh-schema.ts'
import { type TestPool, testPool } from './postgres-schemas.ts'

const TAG = 'told'
/** Lists wait at most so long after a wake-up. The looks that make up for lost hints come after ten seconds. */
const SOON_MS = 200

const ask = task({ id: 'ask', run: (tokenId: string) => wait.forToken<string>(tokenId).unwrap() })
const begun = new Map<string, () => void>()
const create = task({
  id: 'create',
  run: async (isAwaited: boolean, { ctx, signal }) => {
    if (!isAwaited) await new Promise<void>((resolve) => begun.set(ctx.run.id, resolve))
    const token = await wait.createToken({ tags: [TAG], timeout: '1h' })
    if (isAwaited) return wait.forToken<string>(token).unwrap()
    await new Promise((resolve) => signal.addEventListener('abort', resolve))
    return ''
  },
})
const held = task({ id: 'held', queue: { name: 'held' }, run: () => 0 })
const planned = task({ id: 'planned', schedule: {}, run: () => 0 })

/** A worker and, in a process of its own as far as the database can tell, an engine that only looks. Its time stands still. */
class Two implements AsyncDisposable {
  readonly clock: TestClock
  readonly worker: Engine
  readonly looker: Engine
  readonly heard: Hint[] = []
  readonly #pools: readonly TestPool[] = [testPool(), testPool()]

  constructor() {
    const schema = schemaOfTest()
    const [one, other] = this.#pools.map((pool) => postgresStorage({ pool: quiet(pool), schema }))
    const tasks = [ask, create, held, planned]
    const options = { tasks, leaseMs: 3_600_000, secretKey: KEY }
    this.clock = testClock({ mode: 'manual', start: systemClock().now() })
    this.worker = createEngine({ ...options, storage: one! })
    this.looker = createEngine({ ...options, storage: other!, clock: this.clock, execute: false })
    other!.subscribe('a witness', (hint) => this.heard.push(hint))
  }

  static async opened(): Promise<Two> {
    const two = new Two()
    await two.worker.ready()
    await two.looker.ready()
    return two
  }

  /** Resolves with the promise, and lets no more time pass meanwhile than a list waits after a wake-up. */
  async soon<T>(promised: Promise<T>): Promise<T> {
    const outcome = { isThere: false }
    const over = (): void => void (outcome.isThere = true)
    promised.then(over, over)
    while (!outcome.isThere) {
      const now = this.clock.now()
      if (this.clock.pending().some(({ at }) => at > now && at <= now + SOON_MS))
        await this.clock.advance(SOON_MS)
      await turn()
    }
    return promised
  }

  /** A run that waits; the looker has heard that the worker has claimed and parked it. */
  async waiting(): Promise<{ readonly runId: string; readonly tokenId: string }> {
    const { id: tokenId } = await this.looker.wait.createToken({ timeout: '1h' })
    const { id: runId } = await this.looker.trigger(ask, tokenId, { tags: [TAG] })
    await this.hears(runId, 2)
    return { runId, tokenId }
  }

  /** Resolves once the looker has heard of so many changes of a run by the worker. */
  async hears(runId: string, changes: number): Promise<void> {
    while (this.heard.filter((hint) => hint.topic === 'run' && hint.runId === runId).length < changes)
      await turn()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.worker.close(), this.looker.close()])
    await Promise.all(this.#pools.map((pool) => pool.end()))
  }
}

function quiet(pool: TestPool): TestPool {
  pool.on('error', () => undefined)
  return pool
}

/** What the looker shows at first, and after each of its wake-ups. */
type Surface = (two: Two) => AsyncGenerator<string>

async function* tokenList({ looker }: Two): AsyncGenerator<string> {
  for await (const list of looker.wait.subscribeToTokens({ tags: [TAG] }))
    yield list.map(({ id }) => id).join()
}

async function* runList({ looker }: Two): AsyncGenerator<string> {
  const subscriber = new Subscriber(
    { engine: looker },
    `/realtime/v1/runs?tags=${TAG}`,
    createHandler(looker),
  )
  for (;;) {
    await subscriber.ask({ authorization: `Bearer ${KEY}`, 'x-trigger-electric-version': '1.0.0-beta.1' })
    yield JSON.stringify(Array.from(subscriber.rows.values()))
  }
}

async function* consolePage({ looker }: Two): AsyncGenerator<string> {
  const visitor = await Visitor.loggedIn(looker)
  const leaving = new AbortController()
  const { body } = await visitor.stream('/events', leaving.signal)
  try {
    for await (const text of body!.pipeThrough(new TextDecoderStream())) {
      if (text.startsWith('retry') || text.includes('changed')) yield await everything(looker)
    }
  } finally {
    leaving.abort()
  }
}

/** What the pages of the console list. */
async function everything(engine: Engine): Promise<string> {
  const tokens = engine.wait.listTokens({ status: 'WAITING' })
  return JSON.stringify(
    await Promise.all([tokens, engine.runs.list(), engine.queues(), engine.schedules.list()]),
  )
}

/** A change by the worker; resolves with a test of what is shown. `given` is what was there before. */
interface Row {
  readonly what: string
  readonly on: readonly Surface[]
  readonly given?: (two: Two) => Promise<string>
  readonly change: (two: Two, given: string) => Promise<(shown: string) => boolean>
}

const shows =
  (...texts: readonly string[]) =>
  (shown: string): boolean =>
    texts.every((text) => shown.includes(text))
const lacks =
  (text: string) =>
  (shown: string): boolean =>
    !shown.includes(text)

const TOKEN = { tags: [TAG], timeout: '1h' }

const ROWS: readonly Row[] = [
  {
    what: 'a token of no run that is created',
    on: [tokenList, consolePage],
    change: async ({ worker }) => shows((await worker.wait.createToken(TOKEN)).id),
  },
  {
    what: 'a token of no run that is completed',
    on: [tokenList, consolePage],
    given: async ({ looker }) => (await looker.wait.createToken(TOKEN)).id,
    change: async ({ worker }, id) => {
      await worker.wait.completeToken(id, 'yes')
      return lacks(id)
    },
  },
  {
    what: 'a token of no run that times out',
    on: [tokenList, consolePage],
    given: async ({ looker }) => (await looker.wait.createToken(TOKEN)).id,
    change: async ({ worker }, id) => {
      await worker.wait.withdrawToken(id)
      return lacks(id)
    },
  },
  {
    what: 'a token that a run waits for',
    on: [tokenList],
    change: async ({ worker }) => {
      const run = await worker.trigger(create, true)
      return (shown) => shown !== '' && run.id !== ''
    },
  },
  {
    what: 'a token that a run creates while it works',
    on: [tokenList, consolePage],
    given: async (two) => {
      const { id } = await two.looker.trigger(create, false)
      await two.hears(id, 1)
      return id
    },
    change: async (_two, id) => {
      while (!begun.has(id)) await turn()
      begun.get(id)!()
      return shows('waitpoint_')
    },
  },
  {
    what: 'a run that is created, and put off',
    on: [runList, consolePage],
    change: async ({ worker }) =>
      shows((await worker.trigger(held, undefined, { tags: [TAG], delay: '1h' })).id),
  },
  {
    what: 'a run that is created in a queue that is paused',
    on: [runList, consolePage],
    given: async ({ looker }) => (await looker.queue('held').pause()).name,
    change: async ({ worker }) => shows((await worker.trigger(held, undefined, { tags: [TAG] })).id),
  },
  {
    what: 'many runs that are created at once in a queue that is paused',
    on: [runList, consolePage],
    given: async ({ looker }) => (await looker.queue('held').pause()).name,
    change: async ({ worker }) => {
      const triggered = Array.from({ length: 20 }, () => worker.trigger(held, undefined, { tags: [TAG] }))
      return shows(...(await Promise.all(triggered)).map(({ id }) => id))
    },
  },
  {
    what: 'a run that is completed',
    on: [runList, consolePage],
    given: async (two) => (await two.waiting()).tokenId,
    change: async ({ worker }, tokenId) => {
      await worker.wait.completeToken(tokenId, 'yes')
      return shows('COMPLETED')
    },
  },
  {
    what: 'a run that is canceled',
    on: [runList, consolePage],
    given: async (two) => (await two.waiting()).runId,
    change: async ({ worker }, runId) => {
      await worker.runs.cancel(runId)
      return shows('CANCELED')
    },
  },
  {
    what: 'a queue that is paused',
    on: [consolePage],
    change: async ({ worker }) => {
      await worker.queue('held').pause()
      return shows('"isPaused":true')
    },
  },
  {
    what: 'a queue whose limit is set, by the engine that looks',
    on: [consolePage],
    change: async ({ looker }) => {
      await looker.queue('held').setLimit(7)
      return shows('"limit":7')
    },
  },
  {
    what: 'a schedule that is created',
    on: [consolePage],
    change: async ({ worker }) =>
      shows(
        (await worker.schedules.create({ task: planned, cron: '0 0 1 1 *', deduplicationKey: 'one' })).id,
      ),
  },
  {
    what: 'a schedule that is deleted, by the engine that looks',
    on: [consolePage],
    given: async ({ looker }) =>
      (await looker.schedules.create({ task: planned, cron: '0 0 1 1 *', deduplicationKey: 'two' })).id,
    change: async ({ looker }, id) => {
      await looker.schedules.del(id)
      return lacks(id)
    },
  },
]

describe('an engine that only looks, beside a worker of another process', () => {
  const cases = ROWS.flatMap(({ on, ...row }) => on.map((surface) => ({ ...row, surface })))

  it.each(cases)(
    'is told within two wake-ups of $what: $surface.name',
    async ({ surface, given, change }) => {
      await using two = await Two.opened()
      const before = (await given?.(two)) ?? ''
      const shown = surface(two)
      await two.soon(shown.next())
      const isTold = await change(two, before)
      const texts: string[] = []
      do texts.push(String((await two.soon(shown.next())).value))
      while (texts.length < 2 && !isTold(texts.at(-1)!))
      expect(texts.at(-1)).toSatisfy(isTold)
      await two.soon(shown.return(undefined))
    },
  )
})
