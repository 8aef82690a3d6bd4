import type { KeyRecord } from '../../contract/records.ts'
import { WaitpointError } from '../../api/errors.ts'
import { requireName } from '../../primitives/require.ts'
import { enterPlace, type Attempt } from '../attempt/attempt.ts'
import { NONE_BEFORE } from '../attempt/places.ts'
import { OTHER_VERSION, type RecallMismatch } from '../attempt/recall.ts'
import {
  type AskedWait,
  CALLS,
  effectKey,
  namedKey,
  type StoredAsk,
  questionKey,
} from '../../contract/question-keys.ts'

/**
 * The key of an effect, or of a wait without an idempotency key: its name, or its place in the flow of the run. An execution that comes
 * after an interruption makes the key anew and finds the token; the next attempt of the policy asks anew.
 *
 * @throws WaitpointError `ERR_WAIT_NAMED_TWICE`; PlaceMismatchError when an earlier execution asked something else here.
 */
export function waitKey(attempt: Attempt, { by, kind, name, content }: AskedWait): KeyRecord {
  // A key of users has a scope of another name: see `userKey`.
  if (name !== undefined)
    return { scope: attempt.id, value: namedValue(attempt, { by, kind, name, content }) }
  const hash = hashValue(content, hashText(kind, START))
  const at = enterPlace(hash)
  const { policyAttempt } = attempt.record
  // A call from outside of the attempt's own flow, as from a listener of another library, has no place in it.
  const place = at?.name ?? ''
  const { index, continuation, position } = at?.latest ?? NONE_BEFORE
  const question: StoredAsk = { kind, place, content: hash, index, continuation, position }
  const recalled = attempt.recall?.find(question)
  if (typeof recalled === 'object') throw new PlaceMismatchError(attempt, { kind, name, content }, recalled)
  return {
    scope: attempt.id,
    value: shared(recalled ?? questionKey(policyAttempt, question, attempt.answers?.tell())),
  }
}

/** A call that has a key of its own: its caller goes on from a place of its own all the same. */
export function passPlace(kind: string, content?: unknown): void {
  enterPlace(hashValue(content, hashText(kind, START)))
}

/** The key that tells which answers came before a call whose own key cannot. */
export function toldKey(attempt: Attempt): string | undefined {
  const told = attempt.answers?.tell()
  return told && namedKey(attempt.record.policyAttempt, { by: 'name', name: '', told })
}

/** The content under which the effect of `once` has its own branch. */
export function branchContent(key: string): number {
  return hashText(key, hashText('once', START))
}

/** A wait with a name and an effect are found over any change of code, if they are of the kind that they were. */
function namedValue(attempt: Attempt, wait: AskedWait & { readonly name: string }): string {
  const { by = 'name', kind, name } = wait
  const isEffect = kind === 'once'
  const { recall } = attempt
  let recalled = recall?.named({ by, kind, name })
  // A wait with a key of its user's has its place already, and may have its key more than once.
  if (by === 'name') {
    if (!isEffect) takeName(attempt, name)
    const at = enterPlace(hashValue(name, hashText(isEffect ? kind : 'name', START)))
    recalled ??= at && recall?.at(at.name, at.latest.position)
  }
  if (typeof recalled === 'object') throw new PlaceMismatchError(attempt, wait, recalled)
  if (recalled !== undefined) return recalled
  if (isEffect) return effectKey(name)
  return namedKey(attempt.record.policyAttempt, { by, kind, name, told: attempt.answers?.tell() })
}

function takeName(attempt: Attempt, name: string): void {
  requireName(name, 'name')
  const names = (attempt.names ??= new Set())
  if (names.has(name))
    throw new WaitpointError(
      'ERR_WAIT_NAMED_TWICE',
      `Cannot wait as "${name}" in run "${attempt.id}": another wait of the run has this name; in a loop, make the counter part of it`,
    )
  names.add(name)
}

/** The question an execution asks is not the one an earlier execution asked at this place or as this name, or may be one of several. */
export class PlaceMismatchError extends WaitpointError {
  override name: string = 'PlaceMismatchError'

  /** The call of this execution. */
  readonly asked: AskedWait
  /** The key of the question of the earlier execution. */
  readonly expectedKey: string

  constructor({ id: runId, definition, recall }: Attempt, wait: AskedWait, mismatch: RecallMismatch) {
    const { asked, key, reason } = mismatch
    const { by = 'name', kind, name } = wait
    const named = name === undefined ? '' : ` with the ${by} "${name}"`
    const { why, cure } = REASONS[reason]
    super(
      'ERR_PENDING_VERSION',
      `Cannot go on with run "${runId}": ${CALLS[kind] ?? kind} was called${named}, but an earlier execution ${why.replace('…', () => asked)}; ${cure}, or decide with runs.continueWith("${runId}")`,
    )
    // Code that has asked nothing new leaves the run to the version that it was of.
    if (recall?.hasNew === false && recall.version !== definition.version) this.name = OTHER_VERSION
    this.asked = wait
    this.expectedKey = key
  }
}

const REASONS: Readonly<Record<RecallMismatch['reason'], { readonly why: string; readonly cure: string }>> = {
  place: { why: 'made another call at this place (…)', cure: 'give its waits names' },
  name: { why: 'made another call with this name (…)', cure: 'give the new call another name' },
  key: { why: 'made another call with this key (…)', cure: 'give the new call another key' },
  ambiguous: {
    why: 'made several equal calls at this place (…), and which is which cannot be known',
    cure: 'give its waits names',
  },
}
const START = 0x811c9dc5

let latest = ''

/** Runs of one task make the same waits: as a rule the text was made before, and one is kept for all of them. */
function shared(text: string): string {
  if (text !== latest) latest = text
  return latest
}

/** The marks between texts: no text has such a code in it, so that `['a', 'b']` is no other list. */
const [TEXT, PLAIN, DATE, NAME, LIST_END, OBJECT_END] = [0x10001, 0x10002, 0x10003, 0x10004, 0x10005, 0x10006]

/**
 * FNV-1a over what JSON would keep of a value: the place tells waits apart, the hash notices other options. Hot, hence no
 * JSON text, and a small integer: most options are one text or number.
 */
function hashValue(value: unknown, hash: number): number {
  if (typeof value === 'string') return hashText(value, mix(hash, TEXT))
  if (typeof value !== 'object' || value === null) return hashText(String(value), mix(hash, PLAIN))
  if (value instanceof Date) return hashText(String(value.getTime()), mix(hash, DATE))
  let mixed = hash
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) mixed = hashPart(String(index), value[index], mixed)
    return mix(mixed, LIST_END)
  }
  for (const [name, part] of Object.entries(value)) mixed = hashPart(name, part, mixed)
  return mix(mixed, OBJECT_END)
}

/** JSON leaves out what is undefined. */
function hashPart(name: string, part: unknown, hash: number): number {
  return part === undefined ? hash : hashValue(part, hashText(name, mix(hash, NAME)))
}

function hashText(text: string, hash: number): number {
  let mixed = hash
  for (let index = 0; index < text.length; index += 1) {
    mixed = mix(mixed, text.charCodeAt(index))
  }
  return mixed
}

function mix(hash: number, code: number): number {
  return Math.imul(hash ^ code, 0x01000193)
}
