import type { TokenRecord } from '../../contract/records.ts'
import type { RunAsked } from '../../contract/storage.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { Kernel } from '../kernel.ts'
import { isMessage, storedInputs } from './input-records.ts'

/** What an engine knows of an input stream of a run: where the next message goes. It saves questions; storage decides. */
export class Inbox {
  /** Every number below it has a message, or is passed over. */
  next = 0
  /** So many messages are unread, at most: the run may have read some of them since. */
  unread = 0
  /** The bytes of these. */
  bytes = 0
  /** The tokens of numbers that the run waits for. */
  readonly #open = new Map<number, string>()

  /** The stream as storage has it. */
  static of(asked: RunAsked, stream: string): Inbox {
    const inbox = new Inbox()
    const { inputs, reads } = storedInputs(asked, stream)
    const read = new Set(reads.flatMap(({ taken }) => taken))
    for (const [n, record] of inputs) {
      if (record.status === 'WAITING') inbox.#open.set(n, record.id)
      else if (isMessage(record) && !read.has(n)) inbox.#count(record)
    }
    while (isSettled(inputs.get(inbox.next))) inbox.next += 1
    return inbox
  }

  /** The token of a number that the run waits for, as far as it is known here. */
  open(n: number): string | undefined {
    return this.#open.get(n)
  }

  /** The run waits for this number. */
  opened(n: number, tokenId: string): void {
    this.#open.set(n, tokenId)
    this.next = Math.min(this.next, n)
  }

  /** A number was found with a message, or passed over. */
  settled(n: number, record: TokenRecord): void {
    this.#open.delete(n)
    if (n !== this.next) return
    this.next += 1
    if (isMessage(record)) this.#count(record)
  }

  #count({ outputJson = '' }: TokenRecord): void {
    this.unread += 1
    this.bytes += outputJson.length
  }
}

function isSettled(record: TokenRecord | undefined): boolean {
  return record !== undefined && record.status !== 'WAITING'
}

/** The streams of the runs that execute here: they are known for as long as their attempts. */
const ofAttempts = new WeakMap<Attempt, Map<string, Inbox>>()
/** Those of other runs, by kernel: the ones that were used last. */
const ofOthers = new WeakMap<Kernel, Map<string, Inbox>>()
const MOST_OTHERS = 1_000

/** The streams that are known of a run here. */
export function inboxesOf(kernel: Kernel, runId: string): Inboxes {
  const attempt = kernel.executor.attempts.get(runId)
  if (attempt === undefined || attempt.isEnded) return new Inboxes(mapOf(ofOthers, kernel), `${runId}/`)
  return new Inboxes(mapOf(ofAttempts, attempt))
}

function mapOf<Owner extends object>(
  maps: WeakMap<Owner, Map<string, Inbox>>,
  owner: Owner,
): Map<string, Inbox> {
  const known = maps.get(owner) ?? new Map<string, Inbox>()
  maps.set(owner, known)
  return known
}

class Inboxes {
  readonly #known: Map<string, Inbox>
  readonly #prefix: string

  constructor(known: Map<string, Inbox>, prefix = '') {
    this.#known = known
    this.#prefix = prefix
  }

  get(stream: string): Inbox | undefined {
    return this.#known.get(this.#prefix + stream)
  }

  keep(stream: string, inbox: Inbox): Inbox {
    const name = this.#prefix + stream
    this.#known.delete(name)
    this.#known.set(name, inbox)
    if (this.#prefix !== '' && this.#known.size > MOST_OTHERS)
      for (const oldest of this.#known.keys()) {
        this.#known.delete(oldest)
        break
      }
    return inbox
  }
}

/** The run waits here for a number: what is sent here goes to it without a question before. */
export function waitsFor(
  attempt: Attempt,
  stream: string,
  { n, tokenId }: { readonly n: number; readonly tokenId: string },
): void {
  const inboxes = mapOf(ofAttempts, attempt)
  let inbox = inboxes.get(stream)
  if (inbox === undefined) {
    inbox = new Inbox()
    inbox.next = n
    inboxes.set(stream, inbox)
  }
  inbox.opened(n, tokenId)
}
