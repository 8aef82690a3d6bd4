import fc from 'fast-check'

/** A question of a program; `id` says which one it is, through all changes of the program. */
export interface Ask {
  readonly kind: 'ask'
  readonly id: number
  readonly tag: string
  readonly timeout: '999d' | '12s'
  readonly isNamed: boolean
  /** By an idempotency key of the program's own. */
  readonly isKeyed?: boolean
  /** By a tag of its own. */
  readonly isTagged?: boolean
}

/** What a child does: returns at once; asks and returns the answer; fails once, and then asks. */
export type ChildPayload = 'return' | 'ask' | 'retry'

export interface Child {
  readonly kind: 'child'
  readonly id: number
  readonly payload: ChildPayload
  readonly isNamed: boolean
  /** It begins later, and has a debounce key of its own. */
  readonly isDebounced?: boolean
}

export interface Group {
  readonly kind: 'sequence' | 'all' | 'settled' | 'race' | 'any'
  readonly id: number
  readonly parts: readonly Program[]
}

/** What a task may be made of. */
export type Program =
  | Ask
  | Child
  | Group
  | { readonly kind: 'sleep'; readonly id: number; readonly isNamed: boolean }
  /** Makes the token of a question, and does not wait for it. */
  | { readonly kind: 'made'; readonly id: number; readonly ask: Ask }
  | { readonly kind: 'batch'; readonly id: number; readonly payloads: readonly ChildPayload[] }
  /** Makes the token of a question, and waits for it after something else. */
  | { readonly kind: 'late'; readonly id: number; readonly ask: Ask; readonly body: Program }
  | { readonly kind: 'once'; readonly id: number; readonly inner: Program | undefined }
  | { readonly kind: 'helper'; readonly id: number; readonly hops: number; readonly body: Program }
  | { readonly kind: 'loop'; readonly id: number; readonly times: number; readonly body: Program }
  | {
      readonly kind: 'generator'
      readonly id: number
      readonly times: number
      readonly source: Program
      readonly body: Program
    }
  | { readonly kind: 'fail'; readonly id: number }

interface Kinds {
  /** Leaves `race` and `any` out: the order of answers then decides nothing. */
  readonly races?: boolean
  /** Every wait has a name. */
  readonly named?: boolean
  /** No two questions are equal: each has a tag of its own, or a name. */
  readonly unequal?: boolean
  /** More parts, and deeper in each other. */
  readonly large?: boolean
}

const id = fc.constant(0)

const payload = fc.constantFrom<ChildPayload>('return', 'ask', 'retry')

/** Programs of every kind; they shrink to their parts. */
export function programs({
  races = true,
  named,
  unequal = false,
  large = false,
}: Kinds = {}): fc.Arbitrary<Program> {
  const isNamed = named === undefined ? fc.boolean() : fc.constant(named)
  const groups = ['sequence', 'all', 'settled', ...(races ? ['race', 'any'] : [])] as Group['kind'][]
  const ask = fc.record({
    kind: fc.constant('ask' as const),
    id,
    tag: fc.constantFrom('a', 'b'),
    timeout: fc.constantFrom('999d' as const, '999d' as const, '12s' as const),
    isNamed,
    isTagged: fc.constant(unequal),
  })
  const leaves: fc.Arbitrary<Program>[] = [
    ask,
    fc.record({ kind: fc.constant('sleep' as const), id, isNamed }),
    fc.record({
      kind: fc.constant('child' as const),
      id,
      payload,
      isNamed: unequal ? fc.constant(true) : isNamed,
      isDebounced: fc.boolean(),
    }),
    fc.record({ kind: fc.constant('fail' as const), id }),
    ...(named === true || unequal ? [] : [batches]),
  ]
  const times = fc.integer({ min: 1, max: 2 })
  const kind = fc.constantFrom(...groups)
  const { program } = fc.letrec<{ program: Program }>((tie) => ({
    program: fc.oneof(
      { depthSize: large ? 'medium' : 'small', withCrossShrink: true },
      ...leaves,
      fc.record({
        kind: fc.constant('once' as const),
        id,
        inner: fc.option(tie('program'), { nil: undefined }),
      }),
      fc.record({ kind, id, parts: fc.array(tie('program'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ kind: fc.constant('late' as const), id, ask, body: tie('program') }),
      fc.record({ kind: fc.constant('helper' as const), id, hops: fc.nat(3), body: tie('program') }),
      fc.record({ kind: fc.constant('loop' as const), id, times, body: tie('program') }),
      fc.record({
        kind: fc.constant('generator' as const),
        id,
        times,
        source: tie('program'),
        body: tie('program'),
      }),
    ),
  }))
  const parts = fc.array(program, { minLength: large ? 3 : 1, maxLength: large ? 6 : 3, size: 'max' })
  return fc.oneof(program, fc.record({ kind, id, parts })).map((one) => numbered(one))
}

/** Programs that race first. Some flows end when storage has made a token, and some waits have keys of their own. */
export function contests(): fc.Arbitrary<Program> {
  const ask = fc.record({
    kind: fc.constant('ask' as const),
    id,
    tag: fc.constantFrom('a', 'b'),
    timeout: fc.constant('999d' as const),
    isNamed: fc.boolean(),
    isKeyed: fc.boolean(),
  })
  const made = fc.record({ kind: fc.constant('made' as const), id, ask })
  const kind = fc.constantFrom('sequence' as const, 'all' as const, 'race' as const, 'any' as const)
  const { program } = fc.letrec<{ program: Program }>((tie) => ({
    program: fc.oneof(
      { depthSize: 'medium', withCrossShrink: true },
      fc.oneof<fc.Arbitrary<Program>[]>(ask, made, made),
      fc.record({ kind, id, parts: fc.array(tie('program'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ kind: fc.constant('late' as const), id, ask, body: tie('program') }),
      fc.record({ kind: fc.constant('helper' as const), id, hops: fc.nat(5), body: tie('program') }),
      fc.record({ kind: fc.constant('once' as const), id, inner: fc.constant(undefined) }),
    ),
  }))
  const race = fc.record({
    kind: fc.constantFrom('race' as const, 'any' as const),
    id,
    parts: fc.array(program, { minLength: 2, maxLength: 3 }),
  })
  const parts = fc.tuple<Program[]>(race, program, ask)
  return fc.record({ kind: fc.constant('sequence' as const), id, parts }).map((one) => numbered(one))
}

const batches: fc.Arbitrary<Program> = fc.record({
  kind: fc.constant('batch' as const),
  id,
  payloads: fc.array(payload, { minLength: 1, maxLength: 2 }),
})

/** The program with its parts numbered from 1 on, or from `first` on. */
export function numbered(program: Program, first = 1): Program {
  let next = first
  const number = (part: Program): Program => changed({ ...part, id: next++ }, number)
  return number(program)
}

/** The program with each of its direct parts replaced. */
function changed(program: Program, change: (part: Program) => Program): Program {
  switch (program.kind) {
    case 'once':
      return { ...program, inner: program.inner && change(program.inner) }
    case 'helper':
    case 'loop':
      return { ...program, body: change(program.body) }
    case 'made': {
      const ask = change(program.ask)
      return { ...program, ask: ask.kind === 'ask' ? ask : program.ask }
    }
    case 'late': {
      const ask = change(program.ask)
      return { ...program, ask: ask.kind === 'ask' ? ask : program.ask, body: change(program.body) }
    }
    case 'generator':
      return { ...program, source: change(program.source), body: change(program.body) }
    case 'sequence':
    case 'all':
    case 'settled':
    case 'race':
    case 'any':
      return { ...program, parts: program.parts.map(change) }
    default:
      return program
  }
}

/** All parts of a program, itself first. */
export function partsOf(program: Program): readonly Program[] {
  const parts: Program[] = [program]
  changed(program, (part) => {
    parts.push(...partsOf(part))
    return part
  })
  return parts
}

export interface Edit {
  readonly kind: 'insert' | 'delete' | 'swap' | 'rename' | 'options'
  /** Which part is edited: any number, taken modulo the number of parts that can be. */
  readonly at: number
  readonly inserted: Program
}

export function edits(kinds?: Kinds): fc.Arbitrary<Edit> {
  return fc.record({
    kind: fc.constantFrom(
      'insert' as const,
      'delete' as const,
      'swap' as const,
      'rename' as const,
      'options' as const,
    ),
    at: fc.nat(30),
    inserted: programs(kinds),
  })
}

/** The program after an edit; the program itself if it has no part that can be edited so. New questions have new numbers. */
export function edited(program: Program, { kind, at, inserted }: Edit, fresh: number): Program {
  const isGroup = kind === 'insert' || kind === 'delete' || kind === 'swap'
  const targets = partsOf(program).filter((part) =>
    isGroup ? 'parts' in part : part.kind === 'ask' || part.kind === 'child',
  )
  const target = targets[at % Math.max(1, targets.length)]
  const edit = (part: Program): Program =>
    part === target
      ? editedPart(part, { kind, at, inserted: numbered(inserted, fresh) }, fresh)
      : changed(part, edit)
  return edit(program)
}

function editedPart(part: Program, { kind, at, inserted }: Edit, fresh: number): Program {
  if ('parts' in part) {
    const parts = [...part.parts]
    const where = at % parts.length
    if (kind === 'insert') parts.splice(where, 0, inserted)
    else if (kind === 'delete' && parts.length > 1) parts.splice(where, 1)
    else if (kind === 'swap') parts.push(...parts.splice(where, 1))
    return { ...part, parts }
  }
  if (part.kind !== 'ask' && part.kind !== 'child') return part
  if (kind === 'rename') return part.isNamed ? { ...part, id: fresh } : part
  // A wait without a name and with other options is another question; one with a name is not.
  const other =
    part.kind === 'ask'
      ? { ...part, tag: part.tag === 'a' ? 'b' : 'a' }
      : { ...part, payload: part.payload === 'return' ? ('ask' as const) : ('return' as const) }
  return part.isNamed ? other : { ...other, id: fresh }
}
