import type { Inside } from '../../core/inside.ts'
import { areEqualSecrets } from '../access/equal-secrets.ts'
import type { Limits } from '../limits.ts'
import { Refusal } from '../refusal.ts'

/** A payload sent ahead of its run: its text and the type of that text. */
export interface StoredPacket {
  readonly text: string
  readonly type: string
}

/** The place of a packet, and the key that allows storing it there. */
export interface PacketPlace {
  readonly path: string
  readonly key: string
}

interface Entry {
  readonly credential: string
  readonly key: string
  readonly expiresAt: number
  bytes: number
  packet: StoredPacket | undefined
}

/** A client sends a packet and then triggers its run. This covers the time between, retries included. */
const LIFE_MS = 300_000

/**
 * Payloads that wait for their run, in memory, because clients send large ones ahead. Only the caller that reserved a
 * place can use it. A payload is dropped when its run is stored, and after five minutes in any case.
 */
export class PacketStore {
  readonly #host: Pick<Inside['host'], 'clock' | 'random' | 'now'>
  readonly #limits: Pick<Limits, 'packets' | 'packetBytes'>
  /** By path, oldest first. */
  readonly #entries = new Map<string, Entry>()
  #isSweepPlanned = false

  constructor(
    host: Pick<Inside['host'], 'clock' | 'random' | 'now'>,
    limits: Pick<Limits, 'packets' | 'packetBytes'>,
  ) {
    this.#host = host
    this.#limits = limits
  }

  /** @throws Refusal 429 if the credential has too many places. */
  reserve(credential: string): PacketPlace {
    this.#dropExpired()
    const count = this.#of(credential).length
    if (count >= this.#limits.packets)
      throw tooMuch(`${count} payloads wait for their runs, and no more are allowed`)
    const path = `packet_${this.#randomHex(16)}`
    const key = this.#randomHex(32)
    const expiresAt = this.#host.now() + LIFE_MS
    this.#entries.set(path, { credential, key, expiresAt, bytes: 0, packet: undefined })
    this.#planSweep()
    return { path, key }
  }

  /** Whether `key` allows storing a packet at `path`. */
  accepts({ path, key }: PacketPlace): boolean {
    this.#dropExpired()
    // Compared even for unknown paths, so that the time of the answer does not reveal which paths exist.
    const entry = this.#entries.get(path)
    return areEqualSecrets(key, entry?.key ?? '') && entry !== undefined
  }

  /**
   * Stores a packet at a reserved place.
   *
   * @throws Refusal 429 if the credential stores too many bytes.
   */
  put(path: string, packet: StoredPacket): void {
    const entry = this.#entries.get(path)
    if (entry === undefined) throw new Refusal(404, 'Packet not found')
    const bytes = Buffer.byteLength(packet.text)
    const total = this.#of(entry.credential).reduce((sum, other) => sum + other.bytes, bytes - entry.bytes)
    if (total > this.#limits.packetBytes)
      throw tooMuch('the payloads that wait for their runs are too large together')
    entry.packet = packet
    entry.bytes = bytes
  }

  /** The packet that this credential stored at a path. */
  get(credential: string, path: string): StoredPacket | undefined {
    this.#dropExpired()
    const entry = this.#entries.get(path)
    return entry?.credential === credential ? entry.packet : undefined
  }

  /** Forgets a packet after its run is stored. */
  drop(path: string): void {
    this.#entries.delete(path)
  }

  #of(credential: string): Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.credential === credential)
  }

  #dropExpired(): void {
    for (const [path, { expiresAt }] of this.#entries) {
      if (expiresAt > this.#host.now()) return
      this.#entries.delete(path)
    }
  }

  /** Without a sweep, forgotten packets would stay until the next one arrives. */
  #planSweep(): void {
    if (this.#isSweepPlanned) return
    this.#isSweepPlanned = true
    const sweep = (): void => {
      this.#isSweepPlanned = false
      this.#dropExpired()
      if (this.#entries.size > 0) this.#planSweep()
    }
    const about = { label: 'dropping payloads whose runs were never triggered', background: true }
    this.#host.clock.setTimer(this.#host.now() + LIFE_MS, sweep, about)
  }

  #randomHex(bytes: number): string {
    return Buffer.from(this.#host.random.bytes(bytes)).toString('hex')
  }
}

function tooMuch(why: string): Refusal {
  return new Refusal(429, `Cannot take another payload: ${why}`, { headers: { 'retry-after': '5' } })
}
