import { describe, expect, it } from 'vitest'
import { type AnyTask, runs } from 'waitpoint/sdk'
import { createHandler, type Handler } from 'waitpoint/http'
import type { TestEngine } from 'waitpoint/testing'
import { ask } from '../../http/requests.ts'
import { defaultEngine, taskFile } from './task-file.ts'

interface Admission extends Record<string, unknown> {
  readonly greet: AnyTask
  readonly other: AnyTask
  readonly admit: AnyTask
  tokenFor(options?: unknown): Promise<string>
  once(): Promise<string>
  often(until: Date | number): Promise<string>
  manyAtOnce(): Promise<string>
  identity(): Promise<unknown>
  greetAs(name: string): Promise<readonly string[]>
}

const file = await taskFile<Admission>('admission')

/** What is sent, by the end of an address. */
const BODIES: Readonly<Record<string, unknown>> = {
  trigger: { payload: { name: 'Ada' } },
  complete: { output: 1 },
}

interface Bench extends TestEngine {
  readonly handler: Handler
  /** The statuses of requests with a credential. */
  readonly statuses: (credential: string, ...requests: readonly string[]) => Promise<readonly number[]>
}

async function onBench(body: (bench: Bench) => Promise<void>): Promise<void> {
  await using t = await defaultEngine(file)
  const handler = createHandler(t.engine)
  const statuses: Bench['statuses'] = async (credential, ...requests) => {
    const found: number[] = []
    for (const each of requests) {
      const body = BODIES[each.split('/').at(-1) ?? '']
      found.push((await ask(handler, each, { credential, body })).status)
    }
    return found
  }
  await body({ ...t, handler, statuses })
}

async function ended(task: AnyTask, payload?: unknown, options?: { tags: string }): Promise<string> {
  const { id } = await task.trigger(payload, options)
  await runs.poll(id)
  return id
}

const TRIGGER = 'POST /api/v1/tasks/greet-page/trigger'
const read = (id: string): string => `GET /api/v3/runs/${id}`

describe('auth.createPublicToken', () => {
  it('opens in a run what it names, and nothing else, for as long as it says', () =>
    onBench(async ({ clock, handler, statuses }) => {
      const mine = await ended(file.greet, { name: 'Ada' })
      const tagged = await ended(file.greet, { name: 'Eve' }, { tags: 'page' })
      const stranger = await ended(file.greet, { name: 'Bob' })
      const ofTask = await ended(file.other)
      const admitted = await runs.poll(await ended(file.admit, { runId: mine, tag: 'page' }))
      const credential = admitted.output as string
      expect(
        await statuses(
          credential,
          read(mine),
          read(tagged),
          read(ofTask),
          read(stranger),
          TRIGGER,
          `POST /api/v2/runs/${mine}/cancel`,
        ),
      ).toEqual([200, 200, 200, 403, 403, 403])
      const { body } = await ask(handler, read(mine), { credential })
      expect(body).not.toHaveProperty('output')
      await clock.advance('1h')
      expect(await statuses(credential, read(mine))).toEqual([401])
    }))

  it('reads all runs, a waitpoint token, and changes what it may write', () =>
    onBench(async ({ engine, statuses }) => {
      const id = await ended(file.greet, { name: 'Ada' })
      const [token, foreign] = [await engine.wait.createToken(), await engine.wait.createToken()]
      const all = await file.tokenFor({ scopes: { read: { runs: true } } })
      expect(await statuses(all, read(id), `POST /api/v1/runs/${id}/replay`)).toEqual([200, 403])
      const complete = (id: string): string => `POST /api/v1/waitpoints/tokens/${id}/complete`
      const writer = await file.tokenFor({ scopes: { write: { waitpoints: token.id, runs: [id] } } })
      expect(
        await statuses(writer, complete(token.id), complete(foreign.id), `POST /api/v1/runs/${id}/replay`),
      ).toEqual([200, 403, 200])
      const reader = await file.tokenFor({ scopes: { read: { waitpoints: token.id } } })
      expect(await statuses(reader, `GET /api/v1/waitpoints/tokens/${token.id}`, complete(token.id))).toEqual(
        [200, 403],
      )
    }))

  it.each([
    [{ scopes: { read: { sessions: 's' } } }, 'read.sessions'],
    [{ scopes: { read: { inputStreams: 'run_1' } } }, 'read.inputStreams'],
    [{ scopes: { write: { tasks: 'greet-page' } } }, 'write.tasks'],
    [{ scopes: { batchTrigger: { tasks: 'greet-page' } } }, 'a batch takes a secret key'],
  ])('refuses what no route asks for: %j', async (options, message) =>
    onBench(async () => {
      const refused = file.tokenFor(options)
      await expect(refused).rejects.toMatchObject({ code: 'ERR_HOSTED_ONLY' })
      await expect(refused).rejects.toThrow(message)
    }),
  )

  it.each([
    [undefined, 'may do nothing'],
    [{ scopes: {} }, 'may do nothing'],
    [{ scopes: { read: { runs: ' ' } } }, 'give an id'],
    [{ scopes: { read: { runs: 'r' } }, expires: '1h' }, '"expires"'],
    [{ scopes: { read: { runs: 'r' } }, expirationTime: 1 }, 'it must be in the future'],
    [{ scopes: { read: { runs: 'r' } }, expirationTime: NaN }, 'Cannot use expirationTime NaN'],
    [{ scopes: { read: { runs: 'r' } }, expirationTime: 'soon' }, 'Cannot read expiresIn "soon"'],
    [{ scopes: { read: { runs: 'r' } }, realtime: { skipColumns: ['paylod'] } }, '"paylod"'],
    [{ scopes: { read: { runs: 'r' } }, realtime: { skipColumn: ['payload'] } }, '"skipColumn"'],
  ])('refuses options that cannot be used: %j', async (options, message) =>
    onBench(async () => {
      await expect(file.tokenFor(options)).rejects.toThrow(message)
    }),
  )
})

describe('auth.createPublicToken with null as expirationTime', () => {
  it('makes a token for 15 minutes', () =>
    onBench(async ({ clock, statuses }) => {
      const id = await ended(file.greet, { name: 'Ada' })
      const credential = await file.tokenFor({ scopes: { read: { runs: id } }, expirationTime: null })
      await clock.advance('14m')
      expect(await statuses(credential, read(id))).toEqual([200])
      await clock.advance('1m')
      expect(await statuses(credential, read(id))).toEqual([401])
    }))
})

describe('auth.createTriggerPublicToken', () => {
  it('triggers its task once', () =>
    onBench(async ({ statuses }) => {
      const credential = await file.once()
      const other = 'POST /api/v1/tasks/other/trigger'
      expect(await statuses(credential, other, TRIGGER, TRIGGER)).toEqual([403, 200, 401])
    }))

  it.each(['a Date', 'seconds'])('triggers it until an instant in %s if it may be used again', (form) =>
    onBench(async ({ clock, statuses }) => {
      const until = Math.ceil(clock.now() / 1_000) * 1_000 + 60_000
      const credential = await file.often(form === 'a Date' ? new Date(until) : until / 1_000)
      expect(await statuses(credential, TRIGGER, TRIGGER)).toEqual([200, 200])
      await clock.advance(until - clock.now())
      expect(await statuses(credential, TRIGGER)).toEqual([401])
    }),
  )

  it('is refused for batches, and for other services', () =>
    onBench(async () => {
      await expect(file.manyAtOnce()).rejects.toMatchObject({ code: 'ERR_HOSTED_ONLY' })
      await expect(file.identity()).rejects.toMatchObject({ code: 'ERR_HOSTED_ONLY' })
    }))
})

describe('auth.withPublicToken', () => {
  it('calls its function, which triggers here', () =>
    onBench(async () => {
      const made = await file.greetAs('Ada')
      const outputs = await Promise.all(made.map(async (id) => (await runs.poll(id)).output as unknown))
      expect(outputs).toEqual(['Hello Ada', 'Hello Ada'])
    }))
})

it('makes access tokens where there is an engine only', async () => {
  await expect(file.once()).rejects.toMatchObject({ code: 'ERR_NO_ENGINE' })
})
