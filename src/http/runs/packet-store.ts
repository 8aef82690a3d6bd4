import type { Host } from '../../core/host/host.ts'
import { areEqualSecrets } from '../access/equal-secrets.ts'
import type { Limits } from '../limits.ts'
import { Refusal } from '../refusal.ts'

/** A payload that was sent ahead of its run: its text, and what that is the text of. */
export interface StoredPacket {
  readonly text: string
  readonly type: string
}

/** Where a packet goes, and the key that allows to put it there. */
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

/** The client sends packet and trigger one after the other; this is for what lies between, retries included. */
const LIFE_MS = 300_000

/**
 * Payloads that wait for their run, in memory: a client sends large ones ahead. Each is for whoever reserved its place,
 * is gone once its run is stored, and after five minutes in any case.
 */
export class PacketStore {
  readonly #host: Pick<Host, 'clock' | 'random' | 'now'>
  readonly #limits: Pick<Limits, 'packets' | 'packetBytes'>
  /** By path, the oldest first. */
  readonly #entries = new Map<string, Entry>()
  #isSweepPlanned = false

  constructor(host: Pick<Host, 'clock' | 'random' | 'now'>, limits: Pick<Limits, 'packets' | 'packetBytes'>) {
    this.#host = host
    this.#limits = limits
  }

  /** @throws Refusal 429 when the credential has as many places as it may have. */
  reserve(credential: string): PacketPlace {
    this.#dropExpired()
    const count = this.#of(credential).length
    if (count >= this.#limits.packets) throw tooMuch(`${count} payloads wait for their runs, as many as may`)
    const path = `packet_${this.#randomHex(16)}`
    const key = this.#randomHex(32)
    const expiresAt = this.#host.now() + LIFE_MS
    this.#entries.set(path, { credential, key, expiresAt, bytes: 0, packet: undefined })
    this.#planSweep()
    return { path, key }
  }

  /** Whether `key` allows to put a packet to `path`. */
  accepts({ path, key }: PacketPlace): boolean {
    this.#dropExpired()
    // Compared in any case: how long it takes tells nothing of which places there are.
    const entry = this.#entries.get(path)
    return areEqualSecrets(key, entry?.key ?? '') && entry !== undefined
  }

  /** Puts a packet to a place that was reserved. @throws Refusal 429 when there is too much of that credential. */
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

  /** What this credential put there. */
  get(credential: string, path: string): StoredPacket | undefined {
    this.#dropExpired()
    const entry = this.#entries.get(path)
    return entry?.credential === credential ? entry.packet : undefined
  }

  /** Its run is stored. */
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

  /** What nobody asks for any more would be kept until somebody sends the next one. */
  #planSweep(): void {
    if (this.#isSweepPlanned) return
    this.#isSweepPlanned = true
    const sweep = (): void => {
      this.#isSweepPlanned = false
      this.#dropExpired()
      if (this.#entries.size > 0) this.#planSweep()
    }
    const about = { label: 'dropping payloads that no run came for', background: true }
    this.#host.clock.setTimer(this.#host.now() + LIFE_MS, sweep, about)
  }

  #randomHex(bytes: number): string {
    return Buffer.from(this.#host.random.bytes(bytes)).toString('hex')
  }
}

function tooMuch(why: string): Refusal {
  return new Refusal(429, `Too many payloads: ${why}`, { headers: { 'retry-after': '5' } })
}
