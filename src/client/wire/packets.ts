import { unreadable } from '../connection/api-error.ts'
import type { Transport } from '../connection/transport.ts'
import { WireRecord } from './record.ts'

/** A value as it travels: text, and what kind of text it is. */
export interface Packet {
  readonly data: unknown
  readonly type: string | undefined
}

/** Turns what travels into values. */
export class Packets {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** The value of a packet; one that was too large to travel is fetched. */
  async read({ data, type }: Packet, signal: AbortSignal | undefined): Promise<unknown> {
    if (typeof data !== 'string') return data ?? undefined
    // Nothing, in the words of the service.
    if (data === '') return undefined
    return type === 'application/store' ? this.#fetch(data, signal) : decode(data, type)
  }

  /** What an address holds that an answer gave in place of a value. */
  async download(url: string, signal: AbortSignal | undefined): Promise<unknown> {
    const response = await this.#transport.download(url, signal)
    const type = response.headers.get('content-type')?.split(';')[0]?.trim()
    return decode(await response.text(), type)
  }

  async #fetch(name: string, signal: AbortSignal | undefined): Promise<unknown> {
    const path = `/api/v1/packets/${encodeURIComponent(name)}`
    const { body } = await this.#transport.call({ path, subject: { kind: 'run', id: name } }, signal)
    return this.download(new WireRecord(body, 'a packet').requiredText('presignedUrl'), signal)
  }
}

/** Of `super+json` only the JSON: what it says of dates and maps is for classes that are not there. */
function decode(text: string, type: string | undefined): unknown {
  if (type !== 'application/json' && type !== 'application/super+json') return text
  try {
    const value: unknown = JSON.parse(text)
    return type === 'application/json' ? value : (new WireRecord(value, 'a value').value('json') ?? null)
  } catch (cause) {
    throw unreadable('a value', { body: text, cause })
  }
}
