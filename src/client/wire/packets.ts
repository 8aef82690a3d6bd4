import { unreadable } from '../connection/api-error.ts'
import { DOWNLOAD_PACKET_ADDRESS } from '../../hosted/addresses.ts'
import { KEPT_ELSEWHERE, NOTED_JSON } from '../../hosted/packets.ts'
import type { Transport } from '../connection/transport.ts'
import { WireRecord } from './record.ts'

/** A value in transit: text, and the type of that text. */
export interface Packet {
  readonly data: unknown
  readonly type: string | undefined
}

/** Decodes packets. */
export class Packets {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** The value of a packet. A value that was too large for the answer is downloaded. */
  async read({ data, type }: Packet, signal: AbortSignal | undefined): Promise<unknown> {
    if (typeof data !== 'string') return data ?? undefined
    // The service writes `undefined` as no text.
    if (data === '') return undefined
    return type === KEPT_ELSEWHERE ? this.#fetch(data, signal) : decode(data, type)
  }

  /** Downloads a value whose address came in its place. */
  async download(url: string, signal: AbortSignal | undefined): Promise<unknown> {
    const response = await this.#transport.download(url, signal)
    const type = response.headers.get('content-type')?.split(';')[0]?.trim()
    return decode(await response.text(), type)
  }

  async #fetch(name: string, signal: AbortSignal | undefined): Promise<unknown> {
    const request = { address: DOWNLOAD_PACKET_ADDRESS, ids: [name] } as const
    const { body } = await this.#transport.call(request, signal)
    return this.download(new WireRecord(body, 'a packet').requiredText('presignedUrl'), signal)
  }
}

/** Reads only the JSON of `super+json`: its notes on dates and maps need classes of the sender. */
function decode(text: string, type: string | undefined): unknown {
  if (type !== 'application/json' && type !== NOTED_JSON) return text
  try {
    const value: unknown = JSON.parse(text)
    return type === 'application/json' ? value : (new WireRecord(value, 'a value').value('json') ?? null)
  } catch (cause) {
    throw unreadable('a value', { body: text, cause })
  }
}
