import { createHandler, type Handler } from 'waitpoint/http'
import type { TestEngine } from 'waitpoint/testing'
import { get } from './server-events.ts'
import { turn } from '../support/turn.ts'

/** Everything that is not waiting for time has happened. */

export interface Message {
  readonly key?: string
  readonly value?: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly messages: readonly Message[]
}

export const CLIENT: Readonly<Record<string, string>> = { 'x-trigger-electric-version': '1.0.0-beta.1' }

/** A subscriber that speaks the protocol, one request at a time. */
export class Subscriber {
  readonly #handler: Handler
  readonly #path: string
  #next = 'log=full&offset=-1'
  /** What it knows of each run. */
  readonly rows: Map<string, Readonly<Record<string, unknown>>> = new Map()

  /** @param handler Default: one of its own. */
  constructor(t: Pick<TestEngine, 'engine'>, path: string, handler: Handler = createHandler(t.engine)) {
    this.#handler = handler
    this.#path = path
  }

  async ask(headers: Readonly<Record<string, string>> = CLIENT): Promise<Answer> {
    const separator = this.#path.includes('?') ? '&' : '?'
    const response = await this.#handler(get(`${this.#path}${separator}${this.#next}`, headers))
    const messages = (await response.json()) as Message[]
    const said = (name: string): string => response.headers.get(name) ?? ''
    this.#next =
      `cursor=${said('electric-cursor')}&handle=${said('electric-handle')}&live=true&log=full` +
      `&offset=${said('electric-offset')}`
    for (const { key, value } of messages) {
      if (key !== undefined) this.rows.set(key, { ...this.rows.get(key), ...value })
    }
    return { status: response.status, headers: response.headers, messages }
  }
}

/** Lets time pass, timer by timer, until there is an answer. */
export async function answered(t: TestEngine, asked: Promise<Answer>): Promise<Answer> {
  const answer = { isThere: false }
  const done = asked.finally(() => (answer.isThere = true))
  for (let turns = 0; turns < 10 && !answer.isThere; turns++) await turn()
  while (!answer.isThere) {
    await t.clock.next()
    await turn()
  }
  return done
}

/** What the rows of an answer say of some columns. */
export function columns({ messages }: Answer, ...names: readonly string[]): unknown[] {
  return messages.flatMap(({ value }) => (value === undefined ? [] : [names.map((name) => value[name])]))
}
