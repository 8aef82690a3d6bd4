import { isFinal, runIdOfToken } from '../../contract/run-states.ts'
import type { TokenRecord } from '../../contract/records.ts'
import type { Names } from './names.ts'
import type { Step } from './schedule-record.ts'
import { spell } from './spell.ts'
import type { ToldCall } from './storage-call.ts'
import { TOKEN_ID_START } from '../../contract/id-prefixes.ts'

/** A step in the words of the test: its tasks, tokens and durations. */
export interface StepWords {
  readonly text: string
  /** The answer, such as `: it is WAITING`, or nothing. */
  readonly outcome: string
  /** Whether it is something the engine does for itself, which a story leaves out. */
  readonly isInside: boolean
}

const MOST_VALUE = 80

/** Tells the steps of one schedule without the words of its storage. */
export class Narrator {
  readonly #names: Names
  readonly #tokens = new Map<string, TokenRecord>()

  constructor(steps: readonly Step[], names: Names) {
    this.#names = names
    for (const { call } of steps) {
      if (call?.name === 'tokens.insert') {
        const record = insertedToken(call)
        this.#tokens.set(this.#nameOf(record.id), record)
      }
    }
  }

  tell({ label, call }: Pick<Step, 'label' | 'call'>): StepWords {
    if (call !== undefined) return this.#call(call)
    const [, actor = '', what = label] = /^(.*?)\/(.*)#\d+$/s.exec(label) ?? []
    return actor === 'time' ? this.#timer(what) : shown(`${person(actor)}: ${what}`)
  }

  #call(call: ToldCall): StepWords {
    const { actor, name } = call
    if (name === 'tick') return inside(`${person(actor)} times out what is due`)
    return this.#aboutRun(call) ?? this.#aboutToken(call) ?? inside(`${person(actor)}: ${name}`)
  }

  #aboutRun(call: ToldCall): StepWords | undefined {
    const { actor } = call
    switch (call.name) {
      case 'runs.insert':
        return this.#triggered(call)
      case 'runs.claim':
        return this.#claimed(call)
      case 'runs.update':
        return this.#ended(call)
      case 'runs.park':
        return inside(`${person(actor)} gives its slot back`)
      case 'runs.resume':
        return shown(`${person(actor)} goes on`)
      case 'runs.get':
        return this.#looked(call)
      case 'chunks.append':
        return shown(`${person(actor)} appends to the stream "${call.args[0].key}"`)
      case 'chunks.add':
        return shown(
          `${person(actor)} appends to the stream "${call.args[0].key}" of ${this.#nameOf(call.args[0].runId)}`,
        )
      default:
        return undefined
    }
  }

  #aboutToken(call: ToldCall): StepWords | undefined {
    const { actor } = call
    switch (call.name) {
      case 'tokens.insert':
        return this.#created(call)
      case 'tokens.get':
        return shown(
          `${person(actor)} looks at ${this.#token(call.args[0], actor)}`,
          after(call.answer?.record.status),
        )
      case 'tokens.await':
        return this.#awaited(call)
      case 'tokens.settle':
        return this.#settled(call)
      default:
        return undefined
    }
  }

  #triggered({ actor, args: [{ record }], answer }: CallNamed<'runs.insert'>): StepWords {
    const { id, taskId } = answer === undefined || answer === 'stale' ? record : answer.record
    return shown(`${person(actor)} triggers ${this.#names.of(id) ?? taskId}`)
  }

  #claimed({ actor, args: [{ limit }], answer }: CallNamed<'runs.claim'>): StepWords {
    if (limit === 0) return inside(`${person(actor)} asks which runs it executes`)
    const where = actor === 'engine' ? '' : ` on ${actor}`
    const runs = (answer?.runs ?? []).map(
      ({ id, attempt }) => this.#nameOf(id) + (attempt > 1 ? ` (attempt ${attempt})` : ''),
    )
    return runs.length === 0
      ? inside(`${person(actor)} looks for runs to start`)
      : shown(`${runs.join(', ')} ${runs.length === 1 ? 'starts' : 'start'}${where}`)
  }

  #looked({ actor, args: [id], answer }: CallNamed<'runs.get'>): StepWords {
    const text = `${person(actor)} looks at ${this.#nameOf(id)}`
    // The end of an attempt is read anew where its answer was lost.
    return this.#nameOf(id) === actor ? inside(text) : shown(text, after(answer?.status))
  }

  #ended({ actor, args: [{ change }] }: CallNamed<'runs.update'>): StepWords {
    const { status, outputJson, errorJson } = change
    if (status === undefined) return inside(`${person(actor)} is updated`)
    if (status === 'COMPLETED')
      return shown(`${person(actor)} ends${outputJson === undefined ? '' : ` with ${clipped(outputJson)}`}`)
    const why = errorJson === undefined ? '' : `: ${clipped(this.#names.readable(messageIn(errorJson)))}`
    const what = isFinal(status) ? `ends as ${status}` : `becomes ${status}`
    return shown(`${person(actor)} ${what}${why}`)
  }

  #created(call: CallNamed<'tokens.insert'>): StepWords {
    const { actor, timeout, answer } = call
    const { kind, timeoutAt, createdAt, id } = insertedToken(call)
    if (typeof answer === 'object' && answer.isCached) return this.#found(actor, answer.record)
    const left = timeoutAt === undefined ? undefined : spell(timeoutAt - createdAt)
    if (kind === 'SLEEP') return shown(`${person(actor)} begins to wait ${left ?? ''}`.trimEnd())
    if (kind !== 'MANUAL') return inside(`${person(actor)} keeps a ${kind}`)
    const deadline = timeout ?? (left === undefined ? undefined : `${left} by default`)
    return shown(
      `${person(actor)} creates ${this.#token(id, actor)}${deadline === undefined ? '' : `, time-out ${deadline}`}`,
    )
  }

  /** An attempt that begins anew asks again for what the run has. */
  #found(actor: string, { kind, id, status }: TokenRecord): StepWords {
    if (kind === 'SLEEP') return shown(`${person(actor)} finds its wait again`)
    if (kind !== 'MANUAL') return inside(`${person(actor)} finds a ${kind} again`)
    return shown(`${person(actor)} finds ${this.#token(id, actor)} again`, after(status))
  }

  #awaited({ actor, args: [{ tokenId }], answer }: CallNamed<'tokens.await'>): StepWords {
    const record = this.#tokens.get(this.#nameOf(tokenId))
    const childId = runIdOfToken(tokenId)
    if (childId !== undefined) return shown(`${person(actor)} waits for the end of ${this.#nameOf(childId)}`)
    const text = `${person(actor)} waits for ${this.#token(tokenId, actor)}`
    if (record !== undefined && record.kind !== 'MANUAL') return inside(text)
    return shown(text, answer?.outcome === 'settled' ? after(answer.token.status) : '')
  }

  #settled({ actor, args: [{ id }], answer }: CallNamed<'tokens.settle'>): StepWords {
    const record = this.#tokens.get(this.#nameOf(id))
    const text = `${person(actor)} completes ${this.#token(id, actor)}`
    if (record !== undefined && record.kind !== 'MANUAL') return inside(text)
    if (typeof answer !== 'object' || answer.won) return shown(text)
    const { status } = answer.record
    return shown(text, status === 'WAITING' ? ': no, it asks something else' : `: too late, it is ${status}`)
  }

  #timer(what: string): StepWords {
    const [, kind, name = ''] = /^deadline of (token|run) (.*)$/s.exec(what) ?? []
    const record = this.#tokens.get(name)
    if (kind === 'token')
      return shown(
        record?.kind === 'SLEEP'
          ? `the wait of ${makerOf(name)} is over`
          : `the deadline of ${this.#named(name)} passes`,
      )
    if (kind === 'run') return shown(`the instant of ${name} has come`)
    const [, happened] = /^outside: (.*)$/s.exec(what) ?? []
    if (happened !== undefined) return shown(happened)
    const [, sleeper, duration = ''] = /^(.*) slept (.*)$/s.exec(what) ?? []
    const [, paused] = /^pause of (.*)$/s.exec(what) ?? []
    if (paused !== undefined) return shown(`${person(paused)} goes on`)
    if (sleeper === undefined) return inside(`the timer of the engine for ${what}`)
    return shown(
      `${person(sleeper)} has slept ${/^\d+$/.test(duration) ? spell(Number(duration)) : duration}`,
    )
  }

  #nameOf(id: string): string {
    return this.#names.of(id) ?? id
  }

  #token(id: string, actor: string): string {
    return this.#named(this.#nameOf(id), actor)
  }

  /** `the token [order] of order`, or `its token [order]`, with the tags as the task wrote them. */
  #named(name: string, actor?: string): string {
    const tags = this.#tokens.get(name)?.tags ?? []
    const tagged = tags.length === 0 ? '' : ` [${tags.join(', ')}]`
    const place = name.lastIndexOf('.')
    // A token that was never stored has no name.
    if (place < 0) return name.startsWith(TOKEN_ID_START) ? `a token${tagged}` : `the token ${name}${tagged}`
    const which = `${name.slice(place + 1)}${tagged}`
    return name.slice(0, place) === actor ? `its ${which}` : `the ${which} of ${makerOf(name)}`
  }
}

type CallNamed<Name> = Extract<ToldCall, { readonly name: Name }>

/** The token that was made: a storage may give it another id, as that of a history does. */
function insertedToken({ args: [{ record }], answer }: CallNamed<'tokens.insert'>): TokenRecord {
  return typeof answer === 'object' && !answer.isCached ? answer.record : record
}

function makerOf(name: string): string {
  return person(name.slice(0, Math.max(0, name.lastIndexOf('.'))))
}

function person(actor: string): string {
  if (actor === 'body') return 'the test'
  return actor === 'engine' ? 'the engine' : actor
}

function shown(text: string, outcome = ''): StepWords {
  return { text, outcome, isInside: false }
}

function inside(text: string): StepWords {
  return { text, outcome: '', isInside: true }
}

function after(status: string | undefined): string {
  return status === undefined ? '' : `: it is ${status}`
}

function clipped(text: string): string {
  return text.length <= MOST_VALUE ? text : `${text.slice(0, MOST_VALUE)}…`
}

function messageIn(errorJson: string): string {
  const error: unknown = JSON.parse(errorJson)
  return typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : errorJson
}
