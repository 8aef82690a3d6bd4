import { isFinal } from '../../contract/run-states.ts'
import { sentKey } from '../../contract/input-keys.ts'
import type { TokenRecord } from '../../contract/records.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { SendInputOptions } from '../../api/input.ts'
import { runNotFound } from '../../api/not-found.ts'
import type { AnsweredBy } from '../../api/question.ts'
import { runId } from '../../api/run.ts'
import { fromJson, toJson } from '../../api/serialize.ts'
import type { Values } from '../../api/values.ts'
import { KeyedTurns } from '../../primitives/keyed-turns.ts'
import { type OptionNames, requireName, requireOptions } from '../../primitives/require.ts'
import { type Attempt, fenceOf } from '../attempt/attempt.ts'
import { GET_RUN, INSERT_TOKEN, SETTLE_TOKEN } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import type { DefinedInput, SentInput } from '../../api/input-calls.ts'
import { Inbox, inboxesOf } from './inbox.ts'
import { checkedInput, insertOf, newInput, noteOf, RUN_ASKED, storedInputs } from './input-records.ts'
import { answeredJson } from './questions.ts'

/** A message has at most so many bytes, and what is unread of a stream so many in all. */
const MOST_INPUT_BYTES = 1_048_576
const MOST_UNREAD_BYTES = 16 * MOST_INPUT_BYTES

const NAMES: OptionNames<SendInputOptions> = { idempotencyKey: true, by: true }

/** A message to a run, as it is stored. */
interface Message {
  readonly runId: string
  readonly stream: string
  readonly outputJson: string | undefined
  readonly answeredJson: string
  readonly key: string | undefined
}

/** Messages of one stream to one run go one after the other, in the order in which they were sent here. */
const turns = new WeakMap<Kernel, KeyedTurns>()

/** Sends messages into runs. */
export class InputSender {
  readonly #kernel: Kernel
  readonly #values: Values
  /** The attempt that sends, if one does. */
  readonly #scope: Attempt | undefined

  constructor(kernel: Kernel, values: Values, scope: Attempt | undefined) {
    this.#kernel = kernel
    this.#values = values
    this.#scope = scope
  }

  send(input: DefinedInput, { run, data, options }: SentInput): Promise<void> {
    const id = runId(run)
    requireOptions(options, 'the options of send', NAMES)
    if (options.idempotencyKey !== undefined) requireName(options.idempotencyKey, 'idempotencyKey')
    const ofKernel = turns.get(this.#kernel) ?? new KeyedTurns()
    turns.set(this.#kernel, ofKernel)
    const outputJson = this.#json(input, data)
    return ofKernel.take(`${id}/${input.id}`, async () => {
      await checkedInput(input, this.#values.decode(fromJson(outputJson)), 'send')
      const note = this.#note(options)
      const { idempotencyKey: key } = options
      await this.#accept({ runId: id, stream: input.id, outputJson, answeredJson: note, key })
    })
  }

  #json({ id }: DefinedInput, data: unknown): string | undefined {
    const subject = 'a message of stream'
    const text = toJson(this.#values.encode(data, subject, id), subject, id)
    const size = text === undefined ? 0 : new TextEncoder().encode(text).length
    if (size <= MOST_INPUT_BYTES) return text
    throw new RangeError(
      `Cannot send a message of stream "${id}": it has ${size} bytes, and ${MOST_INPUT_BYTES} is the most`,
    )
  }

  #note({ by, idempotencyKey: key }: SendInputOptions): string {
    const call = key === undefined ? this.#kernel.host.made('sent').id : undefined
    if (by === undefined) return JSON.stringify({ key, call })
    return JSON.stringify({ by: JSON.parse(answeredJson(by)) as AnsweredBy, key, call })
  }

  async #accept(message: Message): Promise<void> {
    const inboxes = inboxesOf(this.#kernel, message.runId)
    const known = inboxes.get(message.stream)
    const open = known?.open(known.next)
    if (known !== undefined && open !== undefined && message.key === undefined) {
      // The run waits for it here: that it does says that it is not over.
      const settled = await this.#settle(open, message)
      if (settled.won) {
        known.settled(known.next, settled.record)
        if (!settled.wasAwaited && !(await this.#isAlive(message))) throw runEnded(message)
        return
      }
    }
    if (!(await this.#isAlive(message))) return this.#requireAccepted(message)
    const inbox = known ?? inboxes.keep(message.stream, await this.#measured(message))
    await this.#place(message, inbox)
  }

  /** Goes up from the first number without a message, to one that is not taken. */
  async #place(message: Message, inbox: Inbox): Promise<void> {
    const { key } = message
    for (let n = key === undefined ? inbox.next : await this.#firstOf(message, key, inbox); ;) {
      if (n >= inbox.next) await this.#requireRoom(message, inbox)
      const open = inbox.open(n)
      const { record, won } = await (open === undefined
        ? this.#insert(n, message)
        : this.#settle(open, message))
      if (record.status === 'WAITING') {
        inbox.opened(n, record.id)
        continue
      }
      inbox.settled(n, record)
      if (won || (key !== undefined && noteOf(record).key === key)) return
      n += 1
    }
  }

  /** The number that a message of this key can have, at the least: all who send it begin there, and one finds what another has sent. */
  async #firstOf({ runId: id, stream }: Message, key: string, { next }: Inbox): Promise<number> {
    const { host } = this.#kernel
    const insert = insertOf(host, { key: sentKey(stream, key), runId: id, outputJson: String(next) })
    const { record } = await this.#kernel.written(this.#scope, INSERT_TOKEN, {
      ...insert,
      fence: fenceOf(this.#scope),
    })
    return Number(record.outputJson)
  }

  async #insert(
    n: number,
    message: Message,
  ): Promise<{ readonly record: TokenRecord; readonly won: boolean }> {
    const { host, publisher } = this.#kernel
    const { runId: id, stream, outputJson, answeredJson } = message
    const record = newInput(host, { id }, { status: 'COMPLETED', stream, n, outputJson, answeredJson })
    const request = { record, fence: fenceOf(this.#scope), now: host.now(), by: host.owner }
    const inserted = await this.#kernel.written(this.#scope, INSERT_TOKEN, request)
    if (inserted.settledNow === true) publisher.token(inserted.record)
    return { record: inserted.record, won: !inserted.isCached }
  }

  /** Gives a run that waits its message: a completion as any other. */
  async #settle(
    id: string,
    message: Message,
  ): Promise<{ readonly record: TokenRecord; readonly won: boolean; readonly wasAwaited: boolean }> {
    const { host, publisher, ticker, slots, waitpoints } = this.#kernel
    const { outputJson, answeredJson } = message
    const attempt = waitpoints.waiting(id)
    const offer = attempt && slots.offer(attempt)
    const request = {
      id,
      outputJson,
      answeredJson,
      fence: fenceOf(this.#scope),
      resume: offer?.run,
      by: host.owner,
      now: host.now(),
    }
    try {
      const settled = await this.#kernel.written(this.#scope, SETTLE_TOKEN, request)
      if (offer !== undefined) slots.answered(offer, settled?.resumed)
      if (settled === undefined) throw runEnded(message)
      const { record, won, ready } = settled
      if (settled.settledNow) publisher.token(record)
      if (offer !== undefined) slots.goOn(offer)
      ticker.notDue(record.timeoutAt)
      return { record, won, wasAwaited: ready.length > 0 }
    } catch (error) {
      if (offer !== undefined) slots.answered(offer, undefined)
      ticker.answerLost('a message that was not sent')
      throw error
    }
  }

  async #isAlive({ runId: id }: Message): Promise<boolean> {
    const record = await this.#kernel.asked(GET_RUN, id)
    if (record === undefined) throw runNotFound(id)
    return !isFinal(record.status) && !record.returned
  }

  /** A message that is sent again, as its answer was lost, may have ended the run. */
  async #requireAccepted(message: Message): Promise<void> {
    const { runId: id, stream, key } = message
    const { inputs } = storedInputs(await this.#kernel.asked(RUN_ASKED, id), stream)
    const isAccepted = key !== undefined && [...inputs.values()].some((input) => noteOf(input).key === key)
    if (!isAccepted) throw runEnded(message)
  }

  /** What is unread is counted when there may be too much of it. */
  async #requireRoom(message: Message, inbox: Inbox): Promise<void> {
    if (this.#isRoom(message, inbox)) return
    const { unread, bytes, next } = await this.#measured(message)
    Object.assign(inbox, { unread, bytes, next: Math.min(inbox.next, next) })
    if (this.#isRoom(message, inbox)) return
    throw new WaitpointError(
      'ERR_INBOX_FULL',
      `Cannot send to stream "${message.stream}" of run "${message.runId}": ${inbox.unread} messages with ${inbox.bytes} bytes are unread`,
    )
  }

  #isRoom({ outputJson = '' }: Message, { unread, bytes }: Inbox): boolean {
    return unread < this.#kernel.unreadInputs && bytes + outputJson.length <= MOST_UNREAD_BYTES
  }

  async #measured({ runId: id, stream }: Message): Promise<Inbox> {
    return Inbox.of(await this.#kernel.asked(RUN_ASKED, id), stream)
  }
}

function runEnded({ stream, runId: id }: Message): WaitpointError {
  return new WaitpointError(
    'ERR_RUN_ENDED',
    `Cannot send to stream "${stream}" of run "${id}": the run is over`,
  )
}
