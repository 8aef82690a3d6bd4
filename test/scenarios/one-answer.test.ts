import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import {
  type AnsweredBy,
  type Answerer,
  type AnyTask,
  type DefineQuestionOptions,
  type LinkedToken,
  question,
  type RunHandle,
  type Task,
  task,
} from 'waitpoint'
import { createTestEngine, testClock, type TestClock, type TestEngine } from 'waitpoint/testing'
import { KEY } from '../console/visitor.ts'
import { projectStorage } from '../support/abandon.ts'
import {
  type Answerable,
  AnswerWays,
  NAMING,
  type Offer,
  shownBy,
  storedBy,
  type Told,
  type Way,
  WAYS,
} from '../support/answer-ways.ts'
import { cases } from '../support/cases.ts'

const CHOICES = ['approve', 'reject'] as const
const HOUR = 3_600_000
const TIMES = 3
const AFTER_HOURS = 24

/** What says that an answer is one of the choices. */
const KINDS = {
  choices: { choices: CHOICES },
  'a schema': { schema: z.enum(CHOICES) },
  'a schema that JSON Schema cannot say': {
    schema: z.custom<string>((value) => CHOICES.includes(value as 'approve')),
  },
  'a JSON Schema': { schema: { enum: [...CHOICES] } },
} as const
type Kind = keyof typeof KINDS

const PEOPLE = [
  undefined,
  { id: 'ann', name: 'Ann' },
  { id: 'bo', roles: ['role:lead'] },
  { id: 'eve', roles: ['role:guest'] },
]
const APPROVERS: readonly (readonly string[] | undefined)[] = [undefined, ['ann'], ['ann', 'role:lead']]

interface SentOffer extends Offer {
  /** By the engine that does not execute the run. */
  readonly isElsewhere: boolean
}

type Step =
  | { readonly kind: 'answer'; readonly offers: readonly SentOffer[] }
  | { readonly kind: 'later'; readonly hours: number }
  | { readonly kind: 'withdraw'; readonly by: Answerer | undefined }
  | { readonly kind: 'extend'; readonly hours: number }
  | { readonly kind: 'reassign'; readonly to: readonly string[]; readonly by: Answerer | undefined }
  | { readonly kind: 'look' }
  | { readonly kind: 'restart' }

type Change = Extract<Step, { readonly kind: 'withdraw' | 'extend' | 'reassign' }>

interface Case {
  readonly of: Kind
  readonly approvers: readonly string[] | undefined
  readonly timeoutHours: number
  readonly steps: readonly Step[]
}

/** Who answers, as far as the way can say it: the command takes an id alone. */
function saidPerson({ way, person }: Offer): Answerer | undefined {
  if (person === undefined || !NAMING.has(way)) return undefined
  return way === 'cli' ? { id: person.id } : person
}

const offer: fc.Arbitrary<SentOffer> = fc
  .record({
    way: fc.constantFrom(...WAYS),
    person: fc.constantFrom(...PEOPLE),
    answer: fc.constantFrom('approve', 'reject', 'maybe'),
    isElsewhere: fc.boolean(),
  })
  .map((one) => ({ ...one, person: saidPerson(one) }))
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('answer' as const),
      offers: fc.array(offer, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('later' as const), hours: fc.integer({ min: 1, max: 40 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.oneof(
      fc.record({ kind: fc.constant('withdraw' as const), by: fc.constantFrom(...PEOPLE) }),
      fc.record({ kind: fc.constant('extend' as const), hours: fc.integer({ min: 1, max: 60 }) }),
      fc.record({
        kind: fc.constant('reassign' as const),
        to: fc.constantFrom(['ann'], ['eve'], ['role:lead', 'eve']),
        by: fc.constantFrom(...PEOPLE),
      }),
    ),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'look' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
)
const programs: fc.Arbitrary<Case> = fc.record({
  of: fc.constantFrom(...(Object.keys(KINDS) as Kind[])),
  approvers: fc.constantFrom(...APPROVERS),
  // A reminder of the instant of the deadline may be sent or not.
  timeoutHours: fc.integer({ min: 20, max: 100 }).filter((hours) => hours % AFTER_HOURS !== 0),
  steps: fc.array(step, { minLength: 1, maxLength: 6 }),
})

/** A question as docs/ask-a-person.md has it: what it is now, and what an answer leads to. */
class Model {
  status: 'WAITING' | 'COMPLETED' | 'TIMED_OUT' = 'WAITING'
  winner: Offer | undefined
  withdrawn: AnsweredBy | undefined
  #hours = 0
  #toldHours = 0
  #untilHours: number
  #approvers: readonly string[] | undefined

  constructor({ approvers, timeoutHours }: Case) {
    this.#approvers = approvers
    this.#untilHours = timeoutHours
  }

  /** How often people were told of it: at first, and for each reminder that came due while it waited. */
  get notified(): number {
    return 1 + Math.min(TIMES, Math.floor(this.#toldHours / AFTER_HOURS))
  }

  later(hours: number): void {
    this.#hours += hours
    if (this.status !== 'WAITING') return
    this.#toldHours = Math.min(this.#hours, this.#untilHours)
    if (this.#hours >= this.#untilHours) this.status = 'TIMED_OUT'
  }

  withdraw(by: AnsweredBy): void {
    if (this.status !== 'WAITING') return
    this.status = 'TIMED_OUT'
    this.withdrawn = by
  }

  /** From now on; an hour more where that would be the instant of a reminder. */
  extendedBy(hours: number): number {
    const most = (this.#hours + hours) % AFTER_HOURS === 0 ? hours + 1 : hours
    this.#untilHours = this.#hours + most
    return most
  }

  reassign(to: readonly string[]): void {
    if (this.status === 'WAITING') this.#approvers = to
  }

  isApprover(person: Answerer | undefined): boolean {
    if (this.#approvers === undefined) return true
    const names: readonly string[] = person === undefined ? [] : [person.id, ...(person.roles ?? [])]
    return names.some((name) => this.#approvers?.includes(name))
  }

  /** What is told if nothing else happens meanwhile. */
  told({ person, answer }: Offer): Told {
    if (this.status !== 'WAITING') return { kind: 'lost', status: this.status, by: this.by }
    if (!this.isApprover(person)) return { kind: 'is no approver' }
    return CHOICES.includes(answer as 'approve') ? { kind: 'won' } : { kind: 'does not fit' }
  }

  won(offered: Offer): void {
    this.status = 'COMPLETED'
    this.winner = offered
  }

  get by(): string | undefined {
    return shownBy(this.winner ? storedBy(this.winner) : this.withdrawn)
  }
}

/** A question that a run asks, two engines on its storage, and what was seen. */
class World implements AsyncDisposable {
  readonly #storage = projectStorage()
  readonly #clock: TestClock = testClock({ mode: 'manual' })
  readonly #asking: Task<void, unknown>
  readonly #notified: number[] = []
  readonly #asked: Answerable
  #engines: readonly TestEngine[] = []
  #ways: readonly AnswerWays[] = []
  #run: RunHandle<unknown> | undefined

  constructor({ of, approvers, timeoutHours }: Case) {
    const options: DefineQuestionOptions<unknown> = {
      id: 'refund',
      message: 'Refund?',
      timeout: timeoutHours * HOUR,
      ...(approvers !== undefined && { approvers }),
      ...KINDS[of],
    }
    const definition = question(options)
    let asked: LinkedToken | undefined
    this.#asking = task({
      id: 'asking',
      run: async () => {
        const answer = await definition.ask(undefined, {
          notify: ({ token, reminder }) => {
            asked = token
            this.#notified.push(reminder)
          },
          remind: { after: AFTER_HOURS * HOUR, times: TIMES },
        })
        return answer.ok ? [answer.output, answer.by ?? null] : 'no answer'
      },
    })
    this.#asked = {
      get token() {
        return asked as LinkedToken
      },
      // Where nothing says the choices, an answer is typed.
      choices: of === 'a schema that JSON Schema cannot say' ? undefined : CHOICES,
      definition,
    }
  }

  async start(): Promise<void> {
    const other = await this.#engine([])
    await this.#restart(other)
    this.#run = await this.#first.engine.trigger(this.#asking)
    await this.#clock.settle()
  }

  get #first(): TestEngine {
    return this.#engines[0] as TestEngine
  }

  async step(one: Step, model: Model): Promise<void> {
    if (one.kind === 'later') {
      await this.#clock.advance(one.hours * HOUR)
      model.later(one.hours)
    } else if (one.kind === 'restart') await this.#restart(this.#engines[1] as TestEngine)
    else if (one.kind === 'withdraw' || one.kind === 'extend' || one.kind === 'reassign')
      await this.#change(one, model)
    else if (one.kind === 'look') for (const ways of this.#ways) await ways.look(this.#asked)
    else await this.#answer(one.offers, model)
    await this.#clock.settle()
    await this.expectAs(model)
  }

  async expectAs(model: Model): Promise<void> {
    const { engine } = this.#first
    const { status, output, answeredBy, withdrawn } = await engine.wait.retrieveToken(this.#asked.token.id)
    const { winner } = model
    const by = winner && storedBy(winner)
    expect([status, output, answeredBy]).toEqual([model.status, winner?.answer, by])
    expect(withdrawn).toEqual(model.withdrawn)
    const told = Array.from({ length: model.notified }, (_, reminder) => reminder)
    expect(this.#notified).toEqual(told)
    expect((await engine.wait.listTokens()).data).toHaveLength(1)
    const { status: run } = await engine.runs.retrieve(this.#run?.id ?? '')
    expect(run).toBe(model.status === 'WAITING' ? 'WAITING' : 'COMPLETED')
    if (run !== 'COMPLETED') return
    const { output: end } = await engine.runs.retrieve(this.#run?.id ?? '')
    expect(end).toEqual(model.status === 'TIMED_OUT' ? 'no answer' : [winner?.answer, by ?? null])
  }

  async #change(one: Change, model: Model): Promise<void> {
    const { wait } = (this.#engines[1] as TestEngine).engine
    const { id } = this.#asked.token
    const by = 'by' in one && one.by !== undefined ? { by: one.by } : {}
    const wasWaiting = model.status === 'WAITING'
    const isRefused =
      wasWaiting && one.kind === 'reassign' && one.by !== undefined && !model.isApprover(one.by)
    const changed =
      one.kind === 'withdraw'
        ? wait.withdrawToken(id, by)
        : one.kind === 'extend'
          ? wait.extendToken(id, model.extendedBy(one.hours) * HOUR)
          : wait.reassignToken(id, one.to, by)
    if (isRefused) return expect(changed).rejects.toMatchObject({ code: 'ERR_NOT_APPROVER' })
    const { success, by: toldBy } = await changed
    if (one.kind === 'withdraw')
      model.withdraw(storedBy({ way: 'call', person: one.by, answer: '' }) ?? { via: 'call' })
    else if (one.kind === 'reassign') model.reassign(one.to)
    expect([success, shownBy(toldBy)]).toEqual([wasWaiting, model.by])
  }

  /** Answers that come at once: one that may win does, and all others are told so. */
  async #answer(offers: readonly SentOffer[], model: Model): Promise<void> {
    const alone = offers.map((one) => model.told(one))
    const told = await Promise.all(
      offers.map(async (one) => this.#ways[one.isElsewhere ? 1 : 0]?.offer(this.#asked, one)),
    )
    const mayWin = offers.filter((_, at) => alone[at]?.kind === 'won')
    if (mayWin.length > 0) {
      const winners = offers.filter((_, at) => told[at]?.kind === 'won')
      // The published client is told nothing of a winner: storage has it.
      const { output, answeredBy } = await this.#first.engine.wait.retrieveToken(this.#asked.token.id)
      const hosted = mayWin.find(({ way, answer }) => way === 'hosted' && answer === output)
      if (winners.length === 0) expect(answeredBy).toEqual(hosted && storedBy(hosted))
      else expect(winners).toHaveLength(1)
      model.won((winners[0] ?? hosted) as Offer)
    }
    for (const [at, one] of offers.entries()) {
      if (told[at]?.kind === 'won') continue
      const late = one.way === 'hosted' ? { kind: 'told nothing', status: model.status } : model.told(one)
      const first = alone[at]
      const isRefused = first?.kind === 'does not fit' || first?.kind === 'is no approver'
      // One that does not fit is refused, or comes too late.
      if (isRefused && told[at]?.kind !== late.kind) expect([one, told[at]]).toEqual([one, first])
      else expect([one, told[at]]).toEqual([one, late])
    }
  }

  async #restart(other: TestEngine): Promise<void> {
    await this.#engines[0]?.close()
    this.#engines = [await this.#engine([this.#asking]), other]
    this.#ways = this.#engines.map(({ engine }) => new AnswerWays(engine))
  }

  #engine(tasks: readonly AnyTask[]): Promise<TestEngine> {
    return createTestEngine({
      tasks,
      storage: this.#storage,
      clock: this.#clock,
      secretKey: KEY,
      leaseMs: 6 * HOUR,
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const t of this.#engines) await t.close()
    await this.#clock[Symbol.asyncDispose]()
  }
}

async function expectAsModelled(one: Case): Promise<void> {
  await using world = new World(one)
  await world.start()
  const model = new Model(one)
  await world.expectAs(model)
  for (const each of one.steps) await world.step(each, model)
}

describe('a question that a run asks, of which people are reminded', () => {
  it.each(WAYS)('is answered by the way "%s", and all ways are told so', async (way) => {
    const by = (each: Way, answer: string): SentOffer => {
      const person = saidPerson({ way: each, person: PEOPLE[1], answer })
      return { way: each, person, answer, isElsewhere: each === 'http' }
    }
    const steps: readonly Step[] = [
      { kind: 'answer', offers: [by(way, 'maybe')] },
      { kind: 'answer', offers: [by(way, 'approve')] },
      { kind: 'answer', offers: WAYS.map((each) => by(each, 'reject')) },
    ]
    await expectAsModelled({ of: 'choices', approvers: undefined, timeoutHours: 50, steps })
  })

  it('has one answer, by whichever way, of which all are told, and is as it was after every refusal', async () => {
    await fc.assert(fc.asyncProperty(programs, expectAsModelled), { numRuns: cases(30) })
  })
})
