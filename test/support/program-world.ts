import fc from 'fast-check'
import type { Engine, Storage } from 'waitpoint'
import { seededRandom } from '../../src/clock/seeded-random.ts'
import type { RunRecord } from '../../src/contract/records.ts'
import { createEngineOn } from '../../src/core/engine.ts'
import { storedError } from '../../src/api/serialize.ts'
import { observedStorage } from '../../src/testing/storages/observed.ts'
import { macrotaskTurn } from '../../src/clock/macrotask-turn.ts'
import { wrapStorage } from '../../src/testing/storages/wrapped.ts'
import { isInMemory, projectStorage } from './abandon.ts'
import { crashing, type CrashPoint } from './crash-point.ts'
import { childTask, programTask } from './performance.ts'
import { type Edit, edited, type Program } from './programs.ts'
import { type TurnClock, turnClock } from './turn-clock.ts'
import { Witness } from './witness.ts'

const LEASE_MS = 1_000
const SLEEP_MS = 5_000

/** So many turns pass, or all that it takes until nothing happens. */
type Pause = number | 'rest'

export type Step =
  | {
      readonly kind: 'answer'
      /** So many waiting tokens are answered at once, from this one on. */
      readonly which: number
      readonly count: number
      /** Each in a millisecond of its own, or all in one turn. */
      readonly areApart: boolean
      /** Through the engine, or through another process on its storage. */
      readonly by: 'engine' | 'other'
      readonly pause: Pause
    }
  | { readonly kind: 'later' }

/** One process: it ends by a crash, or after its steps. */
export interface Life {
  /** Before its first step. */
  readonly pause: Pause
  readonly steps: readonly Step[]
  readonly crash: CrashPoint | undefined
  readonly edit: Edit | undefined
}

const pause: fc.Arbitrary<Pause> = fc.constantFrom<Pause>('rest', 'rest', 0, 1, 2, 5)

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('answer' as const),
      which: fc.nat(5),
      count: fc.integer({ min: 1, max: 3 }),
      areApart: fc.boolean(),
      by: fc.constantFrom('engine' as const, 'other' as const),
      pause,
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'later' as const }) },
)

/** The lives of the processes in which one run is executed. */
export function lives(
  edit: fc.Arbitrary<Edit | undefined> = fc.constant(undefined),
): fc.Arbitrary<readonly Life[]> {
  const crash = fc.record({
    call: fc.integer({ min: 3, max: 60 }),
    moment: fc.constantFrom('before' as const, 'after' as const),
  })
  const life = fc.record({
    pause,
    steps: fc.array(step, { maxLength: 6 }),
    crash: fc.option(crash, { nil: undefined }),
    edit,
  })
  return fc.array(life, { minLength: 1, maxLength: 4 })
}

/**
 * How changed code meets the runs of its predecessors: not at all, with them beside it, alone, or as if it were the same. An
 * operator may decide at the end that a run goes on.
 */
export type Deployment = 'same' | 'beside' | 'alone' | 'accepted'

export interface WorldOptions {
  readonly deployment?: Deployment
  /** No two instants are equal, and code comes to rest after each answer: races then have the winners they had. */
  readonly isCalm?: boolean
  /** Storage answers some turns later, each call at random. */
  readonly isLate?: boolean
  /** Of what is random here. */
  readonly seed?: number
}

/** The end of a run, or where it stands still. */
export interface Ending {
  readonly status: string
  readonly attempt: number
  /** Why it stands still. */
  readonly reason: string | undefined
  /** The storage calls of each process that did not crash. */
  readonly calls: readonly number[]
}

type Code = ReturnType<typeof programTask>

const IN_FLIGHT = ['WAITING', 'DELAYED', 'EXECUTING', 'QUEUED']
const PATIENCE = 400
/** Microtasks in which an engine in memory answers. */
const HOPS = 20

const MOST_TURNS = 3

/** A storage that answers some turns after it has done what it was asked for. */
function lateStorage(storage: Storage, random: ReturnType<typeof seededRandom>): Storage {
  return wrapStorage(storage, (_name, operation) => async (...args) => {
    const answer = await operation(...args)
    for (let left = Math.floor(random.fraction() * (MOST_TURNS + 1)); left > 0; left -= 1)
      await macrotaskTurn()
    return answer
  })
}

/** A storage, a clock, and the processes in which one run of a program is executed, one after the other. */
export class ProgramWorld {
  readonly seen: Witness
  readonly storage: Storage = projectStorage()
  readonly #clock: TurnClock
  readonly #isCalm: boolean
  readonly #isLate: boolean
  readonly #deployment: Deployment
  readonly #child: ReturnType<typeof childTask>
  readonly #codes: Code[] = []
  readonly #calls: number[] = []
  #tree: Program
  #runId = ''
  #engines: number

  constructor(
    tree: Program,
    { deployment = 'same', isCalm = false, isLate = false, seed = 0 }: WorldOptions = {},
  ) {
    this.#tree = tree
    this.#deployment = deployment
    this.#isCalm = isCalm
    this.#isLate = isLate
    this.#engines = 1_000 * seed
    this.#clock = turnClock(isCalm)
    const isOwnCode = deployment === 'same' || deployment === 'beside'
    this.seen = new Witness({ isAccepted: deployment === 'accepted', areRacesFair: isOwnCode })
    this.#child = childTask(this.seen)
    this.#deploy()
  }

  /** One process after the other; the last one stays until the run has ended, or stands still. */
  async live(all: readonly Life[]): Promise<Ending> {
    for (const [at, life] of all.entries()) {
      if (life.edit !== undefined) this.#edit(life.edit, at)
      await this.#process(life, async (engine) => {
        await this.#pause(life.pause)
        for (const one of life.steps) await this.#step(one, engine)
      })
    }
    await this.#finish()
    if (this.#deployment === 'accepted') await this.#finish({ isContinued: true })
    return this.#ending()
  }

  /** Accepted code asks anew what does not fit. */
  get mayAskAnew(): boolean {
    return this.#deployment === 'accepted'
  }

  /** One more process with all versions of the code: runs that only miss theirs go on. */
  async bringBack(): Promise<Ending> {
    await this.#finish({ isBack: true })
    return this.#ending()
  }

  /** Tokens and children that were made for more questions than were begun: something was asked twice. */
  async count(): Promise<number> {
    const now = this.#clock.now()
    const tokens = await this.storage.tokens.list({ kind: 'MANUAL' }, { limit: 1_000 }, now)
    const children = await this.storage.runs.list({ taskIds: ['child'] }, { limit: 1_000 })
    return tokens.records.length + children.records.length
  }

  async #finish({ isBack = false, isContinued = false } = {}): Promise<void> {
    const tasks = isBack ? this.#codes.toReversed() : undefined
    await this.#process({ tasks }, async (engine) => {
      await this.#clock.settle()
      if (isContinued && (await this.#run())?.status === 'PENDING_VERSION')
        await this.#while(engine.runs.continueWith(this.#runId))
      for (let left = PATIENCE; left > 0; left -= 1) {
        if (!IN_FLIGHT.includes((await this.#run())?.status ?? '')) break
        const isAnswer = left % 2 === 0
        await this.#step(
          isAnswer
            ? { kind: 'answer', which: 0, count: 3, areApart: true, by: 'engine', pause: 'rest' }
            : { kind: 'later' },
          engine,
        )
      }
    })
  }

  async #ending(): Promise<Ending> {
    const { status = '', policyAttempt = 0, errorJson } = (await this.#run()) ?? {}
    const error = status === 'PENDING_VERSION' && errorJson !== undefined ? storedError(errorJson) : undefined
    return { status, attempt: policyAttempt, reason: error?.message, calls: this.#calls }
  }

  async #process(
    {
      crash,
      tasks,
    }: { readonly crash?: CrashPoint | undefined; readonly tasks?: readonly Code[] | undefined },
    act: (engine: Engine) => Promise<void>,
  ): Promise<void> {
    const clock = this.#clock
    // The lease of the process before has run out.
    await clock.advance(LEASE_MS + 1)
    const random = seededRandom((this.#engines += 1))
    const storage = this.#isLate ? lateStorage(this.storage, random) : this.storage
    const ports = crashing(clock, storage, crash)
    this.seen.process = ports
    const codes = tasks ?? (this.#deployment === 'beside' ? this.#codes.toReversed() : this.#codes.slice(-1))
    const engine = createEngineOn(
      {
        clock: ports.clock,
        storage: isInMemory() && !this.#isLate ? ports.storage : observedStorage(ports.storage, ports.clock),
        random: seededRandom(this.#engines),
      },
      { tasks: [...codes, this.#child], leaseMs: LEASE_MS, retention: { maxAge: '999d' } },
    )
    await this.#while(engine.ready())
    const hasCrashed = (): boolean => ports.hasCrashed
    if (!hasCrashed()) await this.#begin(engine)
    if (this.#runId !== '' && !hasCrashed()) await act(engine)
    this.#calls.push(ports.calls)
    if (ports.survive()) await this.#while(engine.close())
  }

  /** The first process to live for long enough triggers the run. */
  async #begin(engine: Engine): Promise<void> {
    if (this.#runId !== '') return
    const code = this.#codes.at(-1)
    if (code !== undefined) await this.#while(engine.trigger(code, undefined, { idempotencyKey: 'root' }))
    const { records } = await this.storage.runs.list({ taskIds: ['root'] }, { limit: 1 })
    this.#runId = records[0]?.id ?? ''
  }

  /** Lets code go on until a call is answered, or nothing happens any more: a process that has crashed answers none. */
  async #while(call: Promise<unknown>): Promise<void> {
    const wait = { isOver: false }
    const over = (): void => {
      wait.isOver = true
    }
    call.then(over, over)
    for (let left = HOPS; left > 0 && !wait.isOver; left -= 1) await Promise.resolve()
    if (!wait.isOver) await this.#clock.settle()
  }

  async #pause(length: Pause): Promise<void> {
    if (length === 'rest' || this.#isCalm) await this.#clock.settle()
    else await this.#clock.turns(length)
  }

  async #step(one: Step, engine: Engine): Promise<void> {
    const clock = this.#clock
    if (one.kind === 'later') {
      await clock.advance(SLEEP_MS)
      return
    }
    const filter = { kind: 'MANUAL', status: ['WAITING'] } as const
    const { records } = await this.storage.tokens.list(filter, { limit: 50 }, clock.now())
    const answers: Promise<void>[] = []
    for (let at = 0; at < Math.min(one.count, records.length); at += 1) {
      const token = records[(one.which + at) % records.length]
      if (token === undefined) continue
      const isApart = one.areApart || this.#isCalm
      if (isApart) clock.pass(1)
      const answered = this.#answer(token.id, one.by === 'engine' ? engine : undefined)
      if (isApart) await answered
      else answers.push(answered)
      if (this.#isCalm) await clock.settle()
    }
    await Promise.all(answers)
    await this.#pause(one.pause)
  }

  async #answer(id: string, engine: Engine | undefined): Promise<void> {
    const { seen, storage } = this
    const answer = seen.unique('answer')
    seen.tries(id, answer)
    if (engine !== undefined) {
      const completed = engine.wait.completeToken(id, answer).then(({ success }) => {
        if (success) seen.acknowledged(id, answer)
      })
      await this.#while(completed)
      return
    }
    const request = { id, outputJson: JSON.stringify(answer), by: 'outside', now: this.#clock.now() }
    const settled = await storage.tokens.settle(request)
    if (settled !== undefined && settled !== 'stale' && settled.won) seen.acknowledged(id, answer)
  }

  async #run(): Promise<RunRecord | undefined> {
    return this.storage.runs.get(this.#runId)
  }

  #edit(edit: Edit, at: number): void {
    const tree = edited(this.#tree, edit, 1_000 * (at + 1))
    if (tree === this.#tree || JSON.stringify(tree) === JSON.stringify(this.#tree)) return
    this.#tree = tree
    this.#deploy()
  }

  #deploy(): void {
    const { length } = this.#codes
    const before = this.#codes.map((_code, at) => `version ${at}`)
    const accepts = this.#deployment === 'accepted' ? before : []
    const code = { seen: this.seen, child: this.#child, version: `version ${length}`, accepts }
    this.#codes.push(programTask(this.#tree, code))
  }
}
