import fc from 'fast-check'

/** A limit beside that of a queue. */
export interface LimitPlan {
  readonly total: number | undefined
  readonly perKey: number | undefined
}

/** A queue and what its task declares of it, and of further limits. */
export interface QueuePlan {
  readonly limit: number | undefined
  /** So many starts in ten seconds. */
  readonly rate: number | undefined
  /** A limit of the task alone. */
  readonly own: LimitPlan | undefined
  /** Limits that tasks share: each is taken modulo the number of those that there are. */
  readonly shared: readonly number[]
}

/**
 * What a run does between its work: waits for an answer, for a time or for a child; works beside a wait in an effect, in a source of a
 * stream, or in an effect that begins when the run is parked; works with a signal; fails once.
 */
export type Part =
  | { readonly kind: 'ask' | 'sleep' | 'effect' | 'source' | 'late' | 'signal' | 'fail' }
  | { readonly kind: 'child'; readonly child: RunPlan }

/** A run that is to be triggered. It works before and after each part. */
export interface RunPlan {
  readonly queue: number
  readonly key: string | undefined
  /** In seconds. */
  readonly priority: number
  readonly delay: number | undefined
  readonly ttl: number | undefined
  readonly parts: readonly Part[]
}

/** `which`, `queue` and `engine` are taken modulo the number of those that there are. A shared limit is set like a queue. */
export type Command =
  | { readonly kind: 'trigger'; readonly runs: readonly RunPlan[]; readonly engine: number }
  /** Lets a function go on that works. */
  | { readonly kind: 'finish'; readonly which: number }
  | { readonly kind: 'answer'; readonly which: number; readonly engine: number }
  | { readonly kind: 'cancel'; readonly which: number; readonly engine: number }
  | { readonly kind: 'pause'; readonly queue: number; readonly isPaused: boolean; readonly engine: number }
  | {
      readonly kind: 'limit'
      readonly queue: number
      readonly limit: number | undefined
      readonly engine: number
    }
  | { readonly kind: 'rate'; readonly queue: number; readonly rate: number; readonly engine: number }
  /** Time passes: to the next instant at which something is due, or not so far. */
  | { readonly kind: 'later' }
  | { readonly kind: 'pass' }
  /** Compares what the engine tells with the model. */
  | { readonly kind: 'look'; readonly engine: number }

export interface QueueCase {
  readonly queues: readonly QueuePlan[]
  /** Those that tasks share. */
  readonly limits: readonly LimitPlan[]
  /** The concurrency of each engine. */
  readonly engines: readonly number[]
  readonly commands: readonly Command[]
}

const number = fc.nat(30)
const queue = fc.nat(3)
const queueOrLimit = fc.nat(5)
const engine = fc.nat(2)
const kind = <Kind extends string>(name: Kind): fc.Arbitrary<Kind> => fc.constant(name)

const simple = fc.record({
  kind: fc.constantFrom(
    ...(['ask', 'ask', 'ask', 'sleep', 'effect', 'source', 'late', 'signal', 'fail'] as const),
  ),
})

function plans(part: fc.Arbitrary<Part>, most: number): fc.Arbitrary<RunPlan> {
  return fc.record({
    queue,
    key: fc.constantFrom(undefined, undefined, 'a', 'b'),
    priority: fc.constantFrom(0, 0, 0, 2, 30, -5),
    delay: fc.option(fc.integer({ min: 1, max: 9 }), { nil: undefined, freq: 6 }),
    ttl: fc.option(fc.integer({ min: 5, max: 20 }), { nil: undefined, freq: 8 }),
    parts: fc.array(part, { maxLength: most, size: 'max' }),
  })
}

const child = fc.record({ kind: kind('child'), child: plans(simple, 1) })
const run = plans(fc.oneof({ weight: 8, arbitrary: simple }, { weight: 1, arbitrary: child }), 3)

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: kind('trigger'),
      runs: fc.oneof(
        { weight: 4, arbitrary: fc.array(run, { minLength: 1, maxLength: 1 }) },
        { weight: 1, arbitrary: fc.array(run, { minLength: 2, maxLength: 5, size: 'max' }) },
      ),
      engine,
    }),
  },
  { weight: 10, arbitrary: fc.record({ kind: kind('finish'), which: number }) },
  { weight: 6, arbitrary: fc.record({ kind: kind('answer'), which: number, engine }) },
  { weight: 4, arbitrary: fc.record({ kind: kind('later') }) },
  { weight: 2, arbitrary: fc.record({ kind: kind('pass') }) },
  { weight: 1, arbitrary: fc.record({ kind: kind('cancel'), which: number, engine }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: kind('pause'), queue: queueOrLimit, isPaused: fc.boolean(), engine }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: kind('limit'),
      queue: queueOrLimit,
      limit: fc.constantFrom(undefined, 0, 1, 2, 3),
      engine,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: kind('rate'), queue, rate: fc.integer({ min: 1, max: 3 }), engine }),
  },
  { weight: 3, arbitrary: fc.record({ kind: kind('look'), engine }) },
)

const queuePlan = fc.record({
  limit: fc.constantFrom(undefined, undefined, 1, 1, 2),
  rate: fc.constantFrom(undefined, undefined, undefined, 1, 2),
})

const limit: fc.Arbitrary<LimitPlan> = fc.oneof(
  fc.record({ total: fc.constantFrom(1, 2, 3), perKey: fc.constant(undefined) }),
  fc.record({ total: fc.constant(undefined), perKey: fc.constantFrom(1, 1, 2) }),
  fc.record({ total: fc.constantFrom(2, 3), perKey: fc.constant(1) }),
)

/** Nothing but queues, or up to two further limits of each. */
function withLimits(
  plan: fc.Arbitrary<Pick<QueuePlan, 'limit' | 'rate'>>,
  most: number,
): fc.Arbitrary<Pick<QueueCase, 'queues' | 'limits'>> {
  const queues = (further: fc.Arbitrary<Pick<QueuePlan, 'own' | 'shared'>>): fc.Arbitrary<QueuePlan[]> =>
    fc.array(
      fc.tuple(plan, further).map(([one, other]) => ({ ...one, ...other })),
      { minLength: 1, maxLength: most, size: 'max' },
    )
  const none = fc.constant({ own: undefined, shared: [] })
  const some = fc.record({
    own: fc.option(limit, { nil: undefined, freq: 1 }),
    shared: fc.array(fc.nat(1), { maxLength: 2, size: 'max' }),
  })
  const limits = fc.array(limit, { minLength: 1, maxLength: 2, size: 'max' })
  return fc.oneof(
    { weight: 1, arbitrary: fc.record({ queues: queues(none), limits: fc.constant([]) }) },
    { weight: 2, arbitrary: fc.record({ queues: queues(some), limits }) },
  )
}

const mixed: fc.Arbitrary<QueueCase> = fc
  .record({
    plans: withLimits(queuePlan, 4),
    engines: fc.array(fc.constantFrom(1, 1, 2, 3), { minLength: 1, maxLength: 3, size: 'max' }),
    commands: fc.array(command, { minLength: 1, maxLength: 50, size: 'max' }),
  })
  .map(({ plans: declared, ...rest }) => ({ ...declared, ...rest }))

const poller: fc.Arbitrary<RunPlan> = fc.record({
  queue,
  key: fc.constantFrom(undefined, 'a'),
  priority: fc.constantFrom(0, 0, 30, -5),
  delay: fc.constant(undefined),
  ttl: fc.constant(undefined),
  parts: fc.array(fc.constant({ kind: 'ask' } as const), { minLength: 6, maxLength: 12, size: 'max' }),
})

/** Always some of its runs can go on: new ones begin beside them all the same. */
const crowd: fc.Arbitrary<QueueCase> = fc
  .record({
    plans: withLimits(
      fc.record({ limit: fc.constantFrom(undefined, undefined, 1, 2), rate: fc.constant(undefined) }),
      3,
    ),
    engines: fc.constantFrom([1], [1], [2], [1, 1]),
    pollers: fc.array(poller, { minLength: 2, maxLength: 6, size: 'max' }),
    commands: fc.array(
      fc.oneof(
        { weight: 5, arbitrary: fc.record({ kind: kind('finish'), which: number }) },
        { weight: 5, arbitrary: fc.record({ kind: kind('answer'), which: number, engine }) },
        {
          weight: 1,
          arbitrary: fc.record({ kind: kind('trigger'), runs: fc.tuple(plans(simple, 1)), engine }),
        },
        { weight: 1, arbitrary: fc.record({ kind: kind('look'), engine }) },
      ),
      { minLength: 1, maxLength: 80, size: 'max' },
    ),
  })
  .map(({ plans: declared, pollers, commands, ...rest }) => ({
    ...declared,
    ...rest,
    commands: [...pollers.map((one) => ({ kind: 'trigger', runs: [one], engine: 0 }) as const), ...commands],
  }))

/** Queues, engines, and what happens to them. */
export const queueCases: fc.Arbitrary<QueueCase> = fc.oneof(
  { weight: 3, arbitrary: mixed },
  { weight: 1, arbitrary: crowd },
)
