import { describe, expect, it } from 'vitest'
import { type AnyTask, createEngine, once, type RetrievedRun, type Storage, task, wait } from 'waitpoint'
import { checkInFlight, type DepartureReason, type InFlightReport, testClock } from 'waitpoint/testing'
import { projectStorage } from '../support/abandon.ts'

const child = task({ id: 'child', run: async () => wait.for({ days: 20 }) })

/** What a wait is found by when its run is executed again. */
const IDENTITIES = {
  name: { name: 'n' },
  place: {},
  key: { idempotencyKey: 'k', idempotencyKeyTTL: '60d' },
} as const
type Identity = keyof typeof IDENTITIES

const effects: string[] = []
const effect = (key: string): Promise<unknown> => once(key, () => effects.push(key))

const KINDS = {
  token: async (options: object) => wait.forToken(await wait.createToken({ timeout: '30d', ...options })),
  for: (options: object) => wait.for({ days: 20, ...options }),
  until: (options: object) => wait.until({ date: new Date('2000-03-01T00:00:00Z'), ...options }),
  child: (options: object) => child.triggerAndWait(undefined, options),
  batch: (options: object) => child.batchTriggerAndWait([{ payload: undefined, options }]),
  // Its key is its name: there is no effect without one.
  once: (options: object) => effect('name' in options ? String(options.name) : 'effect'),
} as const
type Kind = keyof typeof KINDS
// The keys of the table are its kinds.
const kinds = Object.keys(KINDS) as Kind[]

const CALLS: Readonly<Record<Kind, string>> = {
  token: 'wait.createToken',
  for: 'wait.for',
  until: 'wait.until',
  child: 'triggerAndWait',
  batch: 'triggerAndWait',
  once: 'once',
}

/**
 * - `fits`: the two are one question.
 * - `stands still`: they are two, and the run becomes `PENDING_VERSION`.
 * - `asks anew`, `begins the effect`: they have nothing in common that the engine could compare, so the new call is one more.
 */
type Outcome = 'fits' | 'stands still' | 'asks anew' | 'begins the effect'

const REASONS: Readonly<Record<Outcome, DepartureReason | undefined>> = {
  fits: undefined,
  'stands still': 'question',
  'asks anew': 'new-question',
  'begins the effect': 'effect',
}

/** Every cell; nothing for one that does not exist. */
function outcomeOf(identity: Identity, from: Kind, to: Kind): Outcome | undefined {
  // `once` takes no idempotency key.
  if (identity === 'key' && [from, to].includes('once')) return undefined
  // A batch asks for each of its items as a call of its own does: a child is a child.
  if (CALLS[from] === CALLS[to]) return 'fits'
  // The key of an effect finds its result at any place: no place is stored with it, and nothing stands there for another call.
  if (identity === 'place' && from === 'once') return 'asks anew'
  // The key of a sleep finds the sleep that has begun, whichever of the two calls asks.
  const isSleep = [from, to].every((kind) => kind === 'for' || kind === 'until')
  return identity === 'key' && isSleep ? 'fits' : 'stands still'
}

const identities: readonly Identity[] = ['name', 'place', 'key']

const cells = identities.flatMap((identity) =>
  kinds.flatMap((from) =>
    kinds.flatMap((to) => {
      const outcome = outcomeOf(identity, from, to)
      return outcome === undefined ? [] : [[identity, from, to, outcome] as const]
    }),
  ),
)

/** Its result comes in a turn of its own: what is called beside it has been asked by then. */
const gate = async (): Promise<unknown> => {
  await once('a turn', () => undefined)
  return wait.forToken(await wait.createToken({ timeout: '30d', name: 'gate', tags: ['gate'] }))
}

/** A task with one call of a kind, beside a question whose answer has its run executed again. */
function taskOf(identity: Identity, kind: Kind, { version }: { readonly version: string }): AnyTask {
  return task({
    id: 'task',
    version,
    accepts: ['1'],
    run: async () => Promise.all([KINDS[kind](IDENTITIES[identity]), gate()]),
  })
}

/** The ids of all that was asked and triggered. */
async function askedIn(storage: Storage): Promise<readonly string[]> {
  const pages = [
    await storage.runs.list({}, { limit: 100 }),
    await storage.tokens.list({ kind: 'MANUAL' }, { limit: 100 }, 0),
    await storage.tokens.list({ kind: 'SLEEP' }, { limit: 100 }, 0),
  ]
  return pages.flatMap(({ records }) => records.map(({ id }) => id))
}

/** The processes of one run, one after the other. */
class Deployments {
  readonly #clock = testClock({ mode: 'manual' })
  readonly storage = projectStorage()
  #runId = ''

  /** A process with this code lives for a while: it begins the run, or answers the question beside the call. */
  async live(code: AnyTask): Promise<RetrievedRun> {
    const engine = createEngine({ tasks: [code, child], storage: this.storage, clock: this.#clock })
    await engine.ready()
    if (this.#runId === '') this.#runId = (await engine.trigger(code, undefined as never)).id
    else
      for await (const { id, status } of engine.wait.listTokens({ tags: 'gate' }))
        if (status === 'WAITING') await engine.wait.completeToken(id)
    await this.#clock.settle()
    const run = await engine.runs.retrieve(this.#runId)
    await engine.close()
    return run
  }

  /** A caller outside of the run has made a token with its key before: the run finds it. */
  async makeToken(): Promise<void> {
    await using engine = createEngine({ storage: this.storage, clock: this.#clock })
    await engine.wait.createToken({ timeout: '30d', ...IDENTITIES.key })
  }

  async check(code: AnyTask): Promise<InFlightReport> {
    const at = new Date(this.#clock.now())
    return checkInFlight(this.storage, [code, child], { taskIds: ['task'], at })
  }
}

/** A run that was begun with a call of one kind goes on with code that has another kind in its place. */
async function expectOutcome(
  identity: Identity,
  [from, to]: readonly [Kind, Kind],
  outcome: Outcome,
): Promise<void> {
  const [before, after] = [taskOf(identity, from, { version: '1' }), taskOf(identity, to, { version: '2' })]
  const deployments = new Deployments()
  if (from === 'token') await deployments.makeToken()
  expect((await deployments.live(before)).status).toBe('WAITING')
  const asked = await askedIn(deployments.storage)
  effects.length = 0

  const { departures } = await deployments.check(after)
  expect([departures[0]?.reason, effects]).toEqual([REASONS[outcome], []])

  const run = await deployments.live(after)
  const isNew = (await askedIn(deployments.storage)).length > asked.length
  const happened = [run.status === 'PENDING_VERSION', isNew, effects.length > 0]
  expect(happened).toEqual(['stands still', 'asks anew', 'begins the effect'].map((one) => one === outcome))
  if (outcome !== 'stands still') return

  expect(departures[0]).toMatchObject({ expected: { call: CALLS[from] }, asked: { call: CALLS[to] } })
  expect(run.error?.message).toContain(`${CALLS[to]} was called`)
  expect(run.error?.message).toContain(`(${CALLS[from]}`)
  const again = await deployments.live(before)
  expect(again.status).toBe(from === 'once' ? 'COMPLETED' : 'WAITING')
  expect([await askedIn(deployments.storage), effects]).toEqual([asked, []])
}

describe('a call whose kind the new code has changed', () => {
  const name = 'found by its %s, from %s to %s: %s'
  it.each(cells)(name, (identity, from, to, outcome) => expectOutcome(identity, [from, to], outcome))

  it('may have a key that other kinds of waits of the run have, too', async () => {
    const key = IDENTITIES.key
    const code = task({
      id: 'task',
      run: async () =>
        Promise.all([KINDS.token(key), KINDS.for(key), KINDS.child(key), KINDS.token(key), gate()]),
    })
    const deployments = new Deployments()
    await deployments.live(code)
    const asked = await askedIn(deployments.storage)
    expect((await deployments.check(code)).departures).toEqual([])
    expect((await deployments.live(code)).status).toBe('WAITING')
    expect(await askedIn(deployments.storage)).toEqual(asked)
  })
})
