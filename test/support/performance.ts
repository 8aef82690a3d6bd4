import { once, type Task, task, wait } from 'waitpoint'
import type { Ask, Child, ChildPayload, Group, Program } from './programs.ts'
import type { Decision, Witness } from './witness.ts'

export type ChildTask = Task<ChildPayload, string>

const FAILS_ONCE = new Error('fails once')
const RETRY = { maxAttempts: 2, minTimeoutInMs: 10, maxTimeoutInMs: 10 }

/** The task of the children of a program. */
export function childTask(seen: Witness): ChildTask {
  return task({
    id: 'child',
    version: '1',
    retry: RETRY,
    run: async (payload: ChildPayload, { ctx }) => {
      const { policyNumber } = ctx.attempt
      if (payload === 'retry' && policyNumber === 1) throw FAILS_ONCE
      const answer =
        payload === 'return' ? 'returned' : await askInChild(seen, `${ctx.run.id}/${policyNumber}`)
      seen.returns(ctx.run.id, answer)
      return answer
    },
  })
}

async function askInChild(seen: Witness, question: string): Promise<string> {
  seen.begins(question)
  const token = await wait.createToken({ timeout: '999d', tags: ['a'] })
  seen.asked(question, token.id, 'token a 999d')
  const answer = await wait.forToken<string>(token)
  seen.received(question, token.id, answer)
  return answer.ok ? answer.output : 'no answer'
}

/** A version of the task that performs a program. */
export function programTask(
  program: Program,
  {
    seen,
    child,
    ...code
  }: {
    readonly seen: Witness
    readonly child: ChildTask
    readonly version: string
    readonly accepts: readonly string[]
  },
): Task<undefined, null> {
  return task({
    id: 'root',
    ...code,
    retry: RETRY,
    run: async (_payload: undefined, { ctx, signal }) => {
      await new Performance({ seen, child, signal, attempt: ctx.attempt.policyNumber }).perform(program)
      return null
    },
  })
}

/** An execution of a program. */
class Performance {
  readonly #seen: Witness
  readonly #child: ChildTask
  readonly #attempt: number
  readonly #signal: AbortSignal
  readonly #process: Witness['process']
  readonly #decided: Decision[] = []

  constructor({
    seen,
    child,
    attempt,
    signal,
  }: {
    readonly seen: Witness
    readonly child: ChildTask
    readonly attempt: number
    readonly signal: AbortSignal
  }) {
    this.#seen = seen
    this.#child = child
    this.#attempt = attempt
    this.#signal = signal
    this.#process = seen.process
  }

  async perform(part: Program, rounds = ''): Promise<void> {
    const path = `${part.id}${rounds}`
    switch (part.kind) {
      case 'ask':
        await (
          await this.#ask(part, path)
        )()
        return
      case 'made':
        await this.#ask(part.ask, `${part.ask.id}${rounds}`)
        return
      case 'late': {
        const answer = await this.#ask(part.ask, `${part.ask.id}${rounds}`)
        await this.perform(part.body, rounds)
        await answer()
        return
      }
      case 'sleep':
        return wait.for({ seconds: 5, ...(part.isNamed ? { name: path } : {}) })
      case 'child':
        return this.#begetOne(part, path)
      case 'batch':
        return this.#begetAll(part.payloads, path)
      case 'once':
        return this.#once(part, rounds)
      case 'helper':
        await this.perform(part.body, rounds)
        // Code of its own that takes a while.
        for (let hop = 0; hop < part.hops; hop += 1) await Promise.resolve()
        return
      case 'loop':
        for (let time = 0; time < part.times; time += 1) await this.perform(part.body, `${rounds}.${time}`)
        return
      case 'generator':
        for await (const time of this.#generate(part, rounds))
          await this.perform(part.body, `${rounds}.${time}`)
        return
      case 'fail':
        if (this.#attempt === 1) throw FAILS_ONCE
        return
      default:
        return this.#group(part, rounds)
    }
  }

  /** Asks, and answers how to wait for the answer. */
  async #ask({ tag, timeout, isNamed, isKeyed, isTagged }: Ask, path: string): Promise<() => Promise<void>> {
    this.#begin(path)
    const question = this.#question(path)
    const known = isKeyed === true ? { idempotencyKey: question } : isNamed ? { name: path } : {}
    const tags = isTagged === true ? [tag, path] : [tag]
    const token = await wait.createToken({ timeout, tags, ...known })
    this.#note(path, token.id, isKeyed === true || isNamed ? path : `token ${tags.join(' ')} ${timeout}`)
    return async () => {
      const answer = await wait.forToken<string>(token)
      this.#seen.received(this.#question(path), token.id, answer)
    }
  }

  async #begetOne({ payload, isNamed, isDebounced = false }: Child, path: string): Promise<void> {
    this.#begin(path)
    const debounce = { key: this.#question(path), delay: '3s' } as const
    const options = { ...(isNamed && { name: path }), ...(isDebounced && { debounce }) }
    const answer = await this.#child.triggerAndWait(payload, options)
    const content = isDebounced ? `child ${payload} ${debounce.key}` : `child ${payload}`
    this.#note(path, answer.id, isNamed ? path : content)
    this.#seen.returned(this.#question(path), answer.id, answer.ok ? answer.output : answer.error)
  }

  async #begetAll(payloads: readonly ChildPayload[], path: string): Promise<void> {
    payloads.forEach((_payload, at) => this.#begin(`${path}/${at}`))
    const { runs } = await this.#child.batchTriggerAndWait(payloads.map((payload) => ({ payload })))
    for (const [at, run] of runs.entries()) {
      this.#note(`${path}/${at}`, run.id, `child ${payloads[at]}`)
      this.#seen.returned(this.#question(`${path}/${at}`), run.id, run.ok ? run.output : run.error)
    }
  }

  async #once({ id, inner }: Program & { readonly kind: 'once' }, rounds: string): Promise<void> {
    const key = `${id}${rounds}`
    const decided = [...this.#decided]
    const result = await once(key, async () => {
      this.#seen.effectBegins(key, decided)
      if (inner !== undefined) await this.perform(inner, rounds)
      return this.#seen.unique('effect')
    })
    this.#seen.effectEnded(key, result)
  }

  async *#generate(part: Program & { readonly kind: 'generator' }, rounds: string): AsyncGenerator<number> {
    for (let time = 0; time < part.times; time += 1) {
      await this.perform(part.source, `${rounds}.${time}`)
      yield time
    }
  }

  async #group(group: Group, rounds: string): Promise<void> {
    const { id, kind, parts } = group
    if (kind === 'sequence') {
      for (const part of parts) await this.perform(part, rounds)
      return
    }
    const flows = parts.map(async (part, at) => {
      await this.perform(part, rounds)
      return at
    })
    if (kind === 'all') await Promise.all(flows)
    else if (kind === 'settled') await Promise.allSettled(flows)
    else {
      const winner = await (kind === 'race' ? Promise.race(flows) : Promise.any(flows))
      // Waits of an engine that closes are rejected, and a process that has crashed is gone: such races do not count.
      if (!this.#signal.aborted && !this.#process.hasCrashed)
        this.#decide({ race: this.#question(`${id}${rounds}`), part: winner })
    }
  }

  #question(path: string): string {
    return `${this.#attempt}:${path}`
  }

  #begin(path: string): void {
    this.#seen.begins(this.#question(path), this.#decided)
  }

  #decide(decision: Decision): void {
    this.#seen.won(decision)
    this.#decided.push(decision)
  }

  #note(path: string, token: string, content: string): void {
    this.#seen.asked(this.#question(path), token, content)
  }
}
