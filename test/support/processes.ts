import { type AnyTask, type Engine, type Storage, wait } from 'waitpoint'
import { seededRandom } from '../../src/clock/seeded-random.ts'
import { createEngineOn } from '../../src/core/engine.ts'
import { observedStorage } from '../../src/testing/storages/observed.ts'
import { projectStorage } from './abandon.ts'
import { type TurnClock, turnClock } from './turn-clock.ts'

/** The processes that execute runs, one after the other, on one storage and one clock. */
export class Processes {
  readonly clock: TurnClock = turnClock()
  readonly #storage: Storage = projectStorage()
  #count = 0
  #engine: Engine | undefined

  /** The process before ends, and the next one begins. */
  async next(...tasks: readonly AnyTask[]): Promise<Engine> {
    await this.close()
    return this.beside(...tasks)
  }

  /** Another process begins, while the one before goes on. */
  async beside(...tasks: readonly AnyTask[]): Promise<Engine> {
    return this.#open({ tasks })
  }

  /** The process before ends, and one begins that has the code and executes nothing. */
  async idle(...tasks: readonly AnyTask[]): Promise<Engine> {
    await this.close()
    return this.#open({ tasks, execute: false })
  }

  async #open(options: { readonly tasks: readonly AnyTask[]; readonly execute?: boolean }): Promise<Engine> {
    const { clock } = this
    const storage = observedStorage(this.#storage, clock)
    const engine = createEngineOn({ clock, storage, random: seededRandom((this.#count += 1)) }, options)
    this.#engine = engine
    await engine.ready()
    await clock.settle()
    return engine
  }

  /** Answers the waiting token with this tag, at an instant of its own. */
  async answer(tag: string): Promise<void> {
    this.clock.pass(1)
    const { data = [] } = (await this.#engine?.wait.listTokens({ tags: tag, status: 'WAITING' })) ?? {}
    const [token] = data
    if (token === undefined || data.length > 1) throw new Error(`${data.length} tokens wait for ${tag}`)
    await this.#engine?.wait.completeToken(token, `yes to ${tag}`)
    await this.clock.settle()
  }

  /** The tags of the tokens that wait. */
  async waiting(): Promise<readonly string[]> {
    const { data = [] } = (await this.#engine?.wait.listTokens({ status: 'WAITING' })) ?? {}
    return data.flatMap(({ tags }) => tags).sort()
  }

  async close(): Promise<void> {
    await this.#engine?.close()
    this.#engine = undefined
  }
}

/** Asks a question and waits for its answer. */
export async function ask(tag: string, name?: string): Promise<string> {
  const options = { timeout: '30d', tags: [tag], ...(name === undefined ? {} : { name }) }
  return wait.forToken<string>(await wait.createToken(options)).unwrap()
}
