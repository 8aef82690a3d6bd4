/** The part of a task's world that stands in for the platform. */
export interface PlatformWorld {
  /** The first instant of the clock. */
  readonly startedAt: number
  now(): number
  bytes(length: number): Uint8Array
  /** Aborts after a time. */
  timeout(durationMs: number): AbortSignal
}

/** The world of the calling code; `undefined` for code outside of tasks. */
export type FindPlatformWorld = () => PlatformWorld | undefined

/**
 * Replaces what else tells the time or is random: `performance.now`, `performance.timeOrigin`, `AbortSignal.timeout`,
 * `Intl.DateTimeFormat` without a date, `crypto.randomUUID` and `crypto.getRandomValues`. Code with a world of its own gets
 * that world, all other code the originals.
 *
 * @returns Restores the originals, unless other code has replaced them since.
 */
export function replacePlatform(findWorld: FindPlatformWorld): () => void {
  const putBack = [...replaceTime(findWorld), ...replaceFormats(findWorld), ...replaceCrypto(findWorld)]
  return () => {
    for (const restore of putBack) restore()
  }
}

function replaceTime(findWorld: FindPlatformWorld): (() => void)[] {
  const { timeOrigin } = performance
  const realNow = performance.now.bind(performance)
  const realTimeout = AbortSignal.timeout.bind(AbortSignal)
  const now = (): number => {
    const world = findWorld()
    return world === undefined ? realNow() : world.now() - world.startedAt
  }
  const timeout = (durationMs: number): AbortSignal => {
    const world = findWorld()
    // The original refuses what is not a duration.
    return world === undefined || !(durationMs >= 0) ? realTimeout(durationMs) : world.timeout(durationMs)
  }
  return [
    replace(performance, 'now', { value: now, writable: true }),
    replace(performance, 'timeOrigin', { get: () => findWorld()?.startedAt ?? timeOrigin }),
    replace(AbortSignal, 'timeout', { value: timeout, writable: true }),
  ]
}

function replaceFormats(findWorld: FindPlatformWorld): (() => void)[] {
  const { prototype } = Intl.DateTimeFormat
  const bound = Object.getOwnPropertyDescriptor(prototype, 'format')
  const listed = Object.getOwnPropertyDescriptor(prototype, 'formatToParts')
  function format(this: Intl.DateTimeFormat): Intl.DateTimeFormat['format'] {
    // The property is an accessor; its value is bound to the format.
    const real = bound?.get?.call(this) as Intl.DateTimeFormat['format']
    return findWorld() === undefined ? real : (date) => real(date ?? findWorld()?.now())
  }
  function parts(this: Intl.DateTimeFormat, date?: number | Date): Intl.DateTimeFormatPart[] {
    const real = listed?.value as (
      this: Intl.DateTimeFormat,
      date?: number | Date,
    ) => Intl.DateTimeFormatPart[]
    return real.call(this, date ?? findWorld()?.now())
  }
  return [
    replace(prototype, 'format', { get: format }),
    replace(prototype, 'formatToParts', { value: parts, writable: true }),
  ]
}

function replaceCrypto(findWorld: FindPlatformWorld): (() => void)[] {
  const { crypto } = globalThis
  const realUuid = crypto.randomUUID.bind(crypto)
  const realValues = crypto.getRandomValues.bind(crypto)
  const randomUUID = (): string => {
    const bytes = findWorld()?.bytes(16)
    return bytes === undefined ? realUuid() : uuidOf(bytes)
  }
  const getRandomValues: typeof realValues = (array) => {
    // The original refuses what cannot be filled.
    const filled = realValues(array)
    const world = findWorld()
    if (world !== undefined && ArrayBuffer.isView(filled)) {
      const { buffer, byteOffset, byteLength } = filled
      new Uint8Array(buffer, byteOffset, byteLength).set(world.bytes(byteLength))
    }
    return filled
  }
  return [
    replace(crypto, 'randomUUID', { value: randomUUID, writable: true }),
    replace(crypto, 'getRandomValues', { value: getRandomValues, writable: true }),
  ]
}

/** A version 4 UUID of sixteen random bytes (RFC 9562). */
function uuidOf(bytes: Uint8Array): string {
  const hex = Array.from(bytes, (byte, at) => {
    const value = at === 6 ? (byte & 0x0f) | 0x40 : at === 8 ? (byte & 0x3f) | 0x80 : byte
    return value.toString(16).padStart(2, '0')
  }).join('')
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/** Many of these properties are inherited: restored, the owner has none of its own again. */
function replace(owner: object, name: string, replacement: PropertyDescriptor): () => void {
  const own = Object.getOwnPropertyDescriptor(owner, name)
  Object.defineProperty(owner, name, { ...replacement, configurable: true })
  return () => {
    const present = Object.getOwnPropertyDescriptor(owner, name)
    if (present?.value !== replacement.value || present?.get !== replacement.get) return
    if (own === undefined) Reflect.deleteProperty(owner, name)
    else Object.defineProperty(owner, name, own)
  }
}
