import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TokenStatus, WaitNamespace } from 'waitpoint'
import { createTestEngine, type TestClock } from 'waitpoint/testing'
import { cases } from '../support/cases.ts'
import { jsonValue } from '../support/json-value.ts'
import { microtasksUntil } from '../support/turn.ts'

const START = Date.UTC(2000, 0, 1)

/** What a token is, and nothing else: a pure model. */
interface ModelToken {
  readonly timeoutAt: number
  readonly key: string | undefined
  readonly keyExpiresAt: number
  readonly tag: string
  readonly status: TokenStatus
  readonly output: unknown
  readonly completedAt: number | undefined
}

/** All tokens, oldest first, at one instant. */
interface Model {
  readonly now: number
  readonly tokens: readonly ModelToken[]
}

/** Every token past its deadline is timed out by the first look at it. */
function at(model: Model, now: number): Model {
  const tokens = model.tokens.map((token): ModelToken => {
    if (token.status !== 'WAITING' || now < token.timeoutAt) return token
    return { ...token, status: 'TIMED_OUT', completedAt: token.timeoutAt }
  })
  return { now, tokens }
}

function holderOf({ now, tokens }: Model, key: string | undefined): number {
  if (key === undefined) return -1
  const last = tokens.findLastIndex((token) => token.key === key)
  return last >= 0 && now < tokens[last]!.keyExpiresAt ? last : -1
}

/** The engine and the model beside it. */
class Pair {
  readonly wait: WaitNamespace
  readonly clock: TestClock
  readonly ids: string[] = []
  fired: Promise<void> = Promise.resolve()
  model: Model = { now: START, tokens: [] }

  constructor(wait: WaitNamespace, clock: TestClock) {
    this.wait = wait
    this.clock = clock
  }

  async create(
    timeout: number,
    tag: string,
    key: { readonly name: string; readonly ttl: number } | undefined,
  ): Promise<void> {
    const token = await this.wait.createToken({
      timeout,
      tags: tag,
      ...(key === undefined ? {} : { idempotencyKey: key.name, idempotencyKeyTTL: key.ttl }),
    })
    const holder = holderOf(this.model, key?.name)
    expect(token.isCached).toBe(holder >= 0)
    if (holder >= 0) {
      expect(token.id).toBe(this.ids[holder])
      return
    }
    expect(this.ids).not.toContain(token.id)
    this.ids.push(token.id)
    const { now, tokens } = this.model
    const created: ModelToken = {
      timeoutAt: now + timeout,
      key: key?.name,
      keyExpiresAt: now + (key?.ttl ?? 0),
      tag,
      status: 'WAITING',
      output: undefined,
      completedAt: undefined,
    }
    this.model = at({ now, tokens: [...tokens, created] }, now)
  }

  async complete(index: number, output: unknown): Promise<void> {
    const token = this.model.tokens[index]!
    const wins = token.status === 'WAITING'
    const status = wins ? 'COMPLETED' : token.status
    expect(await this.wait.completeToken(this.ids[index]!, output)).toEqual({ success: wins, status })
    if (!wins) return
    const tokens = this.model.tokens.with(index, { ...token, status, output, completedAt: this.model.now })
    this.model = { ...this.model, tokens }
  }

  async retrieve(index: number): Promise<void> {
    const { status, output, completedAt, timeoutAt, key } = this.model.tokens[index]!
    const seen = await this.wait.retrieveToken(this.ids[index]!)
    expect([
      seen.status,
      seen.output,
      seen.completedAt?.getTime(),
      seen.timeoutAt.getTime(),
      seen.idempotencyKey,
    ]).toEqual([status, output, completedAt, timeoutAt, key])
    expect(seen.error?.code).toBe(status === 'TIMED_OUT' ? 'ERR_TOKEN_TIMED_OUT' : undefined)
  }

  async list(status: TokenStatus | undefined, tag: string | undefined): Promise<void> {
    const seen: string[] = []
    const filter = {
      ...(status === undefined ? {} : { status }),
      ...(tag === undefined ? {} : { tags: tag }),
    }
    for await (const token of this.wait.listTokens({ ...filter, limit: 2 })) seen.push(token.id)
    const matches = this.ids.filter((_id, index) => {
      const token = this.model.tokens[index]!
      return (status ?? token.status) === token.status && (tag ?? token.tag) === token.tag
    })
    expect(seen).toEqual(matches.reverse())
  }

  /** Moves the clock; the timers of deadlines may be late by a turn, and time may be read before they fire. */
  async advance(ms: number, isLate: boolean): Promise<void> {
    const target = this.model.now + ms
    await this.fired
    if (isLate) {
      this.fired = this.clock.jump(ms)
      await microtasksUntil(() => this.clock.now() >= target)
    } else await this.clock.advance(ms)
    this.model = at(this.model, target)
  }
}

type Step = (pair: Pair) => Promise<void>

const someToken = (step: (pair: Pair, index: number) => Promise<void>): fc.Arbitrary<Step> =>
  fc.nat({ max: 20 }).map((pick) => async (pair) => {
    if (pair.ids.length > 0) await step(pair, pick % pair.ids.length)
  })
const durations = fc.oneof(fc.constantFrom(0, 1, 9, 10, 11), fc.nat({ max: 40 }))
const tags = fc.constantFrom('a', 'b')
const keys = fc.record({ name: fc.constantFrom('k', 'l'), ttl: durations })
const statuses = fc.constantFrom<TokenStatus>('WAITING', 'COMPLETED', 'TIMED_OUT')

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.tuple(durations, tags, fc.option(keys, { nil: undefined })).map(
      ([timeout, tag, key]): Step =>
        (pair) =>
          pair.create(timeout, tag, key),
    ),
    jsonValue().chain((output) => someToken((pair, index) => pair.complete(index, output))),
    someToken((pair, index) => pair.retrieve(index)),
    fc.tuple(fc.option(statuses, { nil: undefined }), fc.option(tags, { nil: undefined })).map(
      ([status, tag]): Step =>
        (pair) =>
          pair.list(status, tag),
    ),
    fc.tuple(durations, fc.boolean()).map(
      ([ms, isLate]): Step =>
        (pair) =>
          pair.advance(ms, isLate),
    ),
  ),
  { maxLength: 30 },
)

describe('a token', () => {
  it('is what the model says, whatever is done to it, in whatever order, at whatever time', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (plan) => {
        await using t = await createTestEngine({ clock: { mode: 'manual' } })
        const pair = new Pair(t.engine.wait, t.clock)
        for (const step of plan) await step(pair)
        for (const index of pair.ids.keys()) await pair.retrieve(index)
        await pair.list(undefined, undefined)
        await pair.fired
      }),
      { numRuns: cases(300) },
    )
  })

  it('is settled once: of many who race for it exactly one wins, and all see what it made of it', async () => {
    const race = fc.record({
      completions: fc.array(fc.nat(), { minLength: 1, maxLength: 5 }),
      offset: fc.constantFrom(-1, 0, 1),
    })
    await fc.assert(
      fc.asyncProperty(race, async ({ completions, offset }) => {
        await using t = await createTestEngine({ clock: { mode: 'manual' } })
        const { wait } = t.engine
        const token = await wait.createToken({ timeout: 10 })
        const jumped = t.clock.jump(10 + offset)
        await microtasksUntil(() => t.clock.now() >= START + 10 + offset)
        const calls = completions.flatMap((output) => [
          wait.completeToken(token, output).then(({ status, success }) => ({ status, success })),
          wait.retrieveToken(token).then(({ status }) => ({ status, success: false })),
        ])
        const answers = await Promise.all(calls)
        const isInTime = offset < 0
        expect(answers.filter(({ success }) => success)).toHaveLength(isInTime ? 1 : 0)
        const final = isInTime ? 'COMPLETED' : 'TIMED_OUT'
        for (const { status } of answers) expect(status).toBe(final)
        await jumped
        await t.clock.advance(100)
        expect(await wait.retrieveToken(token)).toMatchObject({ status: final })
      }),
      { numRuns: cases(50) },
    )
  })
})
