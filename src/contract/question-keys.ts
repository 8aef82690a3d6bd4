/** Of a call, how many were made at its place before. */
export interface CallCounts {
  /** Those with its content. */
  readonly index: number
  /** The continuations that had made calls before its own. */
  readonly continuation: number
  /** All of them, whatever their content. */
  readonly position: number
}

/** A question as its key tells it: which kind of wait, where in the flow, with which content. */
export interface StoredAsk extends CallCounts {
  readonly kind: string
  readonly place: string
  readonly content: number
}

/** What a wait is known by, other than its place: its name, or the idempotency key that its user gave it. */
export type KnownBy = 'name' | 'key'

/** A wait of a run or an effect, as far as it says which one it is. */
export interface AskedWait {
  /** `token`, `forToken`, `for`, `until`, `trigger`, `input` or `once`. */
  readonly kind: string
  /** That of an effect is its key. */
  readonly name?: string | undefined
  /** `key`: the name is the idempotency key that the user gave the wait. */
  readonly by?: KnownBy | undefined
  /** The options that tell it from others: no instants, which move with the clock. */
  readonly content: unknown
}

/** The calls that ask questions, by kind. */
export const CALLS: Readonly<Record<string, string>> = {
  token: 'wait.createToken',
  for: 'wait.for',
  until: 'wait.until',
  trigger: 'triggerAndWait',
  once: 'once',
  forToken: 'wait.forToken',
  input: 'streams.input',
}

/**
 * The key of a question: of this attempt of the policy, so that a retry asks anew. `told`: which answers it comes after, see
 * `AnswerOrder.tell`.
 */
export function questionKey(
  policyAttempt: number,
  { kind, place, content, continuation, index, position }: StoredAsk,
  told?: string,
): string {
  const key = `${policyAttempt}/${kind}/${place}/${content}`
  const order = position === 0 ? '' : `${continuation}.${index}.${position}`
  if (told === undefined) return order === '' ? key : `${key}/${order}`
  return `${key}/${order}/${told}`
}

/**
 * The key of a wait with a name, such as `1/name,for,abcdef/lunch`, and of the record which says that one has a key of its user's:
 * `1/key,for,abcdef/lunch`. Without a kind there is no wait: it only tells.
 */
export function namedKey(
  policyAttempt: number,
  { by, kind, name, told }: NamedWait & { readonly told?: string | undefined },
): string {
  const parts = [by, kind, told].filter((part) => part !== undefined)
  return `${policyAttempt}/${parts.join(',')}/${name}`
}

/** A wait that is known by its name or its user's key, or what only tells. */
export interface NamedWait {
  readonly by: KnownBy
  readonly kind?: string | undefined
  readonly name: string
}

/** The kind in the second part of the key of a named wait, and what that tells. What only tells has no kind. */
function nameParts(part: string): { readonly kind: string | undefined; readonly told: string | undefined } {
  const [, first = '', ...more] = part.split(',')
  const isKind = Object.hasOwn(CALLS, first)
  return {
    kind: isKind ? first : undefined,
    told: (isKind ? more : [first, ...more]).join(',') || undefined,
  }
}

/** What keys of both kinds tell of the answers before them, those of this attempt of the policy. */
export function toldIn(value: string, policyAttempt: number): string | undefined {
  const [attempt, kind, , , , told] = value.split('/', 6)
  if (Number(attempt) !== policyAttempt || kind === undefined) return undefined
  return isNamed(kind) ? nameParts(kind).told : told
}

/** The name in a key made by {@link namedKey}. */
export function readName(value = ''): (NamedWait & { readonly policyAttempt: number }) | undefined {
  const [attempt = '', part = ''] = value.split('/', 2)
  if (!isNamed(part)) return undefined
  const name = value.slice(`${attempt}/${part}/`.length)
  const by = part.startsWith('key') ? 'key' : 'name'
  return { policyAttempt: Number(attempt), by, name, kind: nameParts(part).kind }
}

/** The key of `once` in the key of its record. */
export function readEffect(value = ''): string | undefined {
  return value.startsWith(EFFECT) ? value.slice(EFFECT.length) : undefined
}

/** The key of the record of an effect: of all attempts of the policy. */
export function effectKey(name: string): string {
  return EFFECT + name
}

const EFFECT = 'once/'

function isNamed(part: string): boolean {
  return /^(name|key)(,|$)/.test(part)
}

/** The question of a key made by {@link questionKey}; nothing for a name, which may have any character in it. */
export function readQuestionKey(
  value: string | undefined,
): (StoredAsk & { readonly policyAttempt: number }) | undefined {
  const [attempt, kind, place, content, order = ''] = value?.split('/') ?? []
  if (kind === undefined || isNamed(kind) || place === undefined || content === undefined) return undefined
  const [continuation = 0, index = 0, position = 0] = order.split('.').map(Number)
  return {
    policyAttempt: Number(attempt),
    kind,
    place,
    content: Number(content),
    continuation,
    index,
    position,
  }
}
