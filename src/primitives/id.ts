/** Where an id takes its instant and its randomness from. */
export interface IdSourceOptions {
  /** Epoch milliseconds. */
  readonly now: () => number
  readonly random: { bytes(length: number): Uint8Array }
}

const ALPHABET = Array.from('0123456789abcdefghjkmnpqrstvwxyz')
/** The two characters of every ten bits. */
const PAIRS: readonly string[] = ALPHABET.flatMap((high) => ALPHABET.map((low) => high + low))
const LAST_MILLISECOND = 2 ** 48 - 1
const LAST_HALF = 2 ** 40 - 1
const LAST_MIDDLE = 2 ** 30 - 1
const LAST_PAIR = 2 ** 10 - 1

/**
 * Creates a function that makes ids: `prefix_` and 26 characters of lower-case Crockford base 32, ten of them the
 * millisecond, sixteen random. Of one source every id is greater, as a string, than all before it with the same
 * prefix: also within a millisecond, and when the clock steps back.
 *
 * The millisecond is the instant it is given, else `now()`.
 *
 * Hot, at about 50 ns an id: a new millisecond draws its randomness once and counts up from there. Of the number's three
 * parts, 40, 30 and 10 bits, only the last one, which is two characters, is written anew for every id.
 *
 * @example
 * ```ts
 * const createId = createIdSource({ now: () => clock.now(), random })
 * createId('run') // 'run_01jd5w3k7qz8m2v9x4t6b0c1he'
 * ```
 */
export function createIdSource({ now, random }: IdSourceOptions): (prefix: string, at?: number) => string {
  let millisecond = -1
  let upper = 0
  let middle = 0
  let last = 0
  /** All of an id but its prefix and its last two characters. */
  let head = ''

  function startAt(at: number): void {
    const { buffer, byteOffset } = random.bytes(10)
    const bits = new DataView(buffer, byteOffset, 10)
    millisecond = at
    upper = readHalf(bits, 0)
    const lower = readHalf(bits, 5)
    middle = Math.floor(lower / 2 ** 10)
    last = lower % 2 ** 10
    spellHead()
  }

  function spellHead(): void {
    head = spellTime(millisecond) + spellHalf(upper) + spellMiddle(middle)
  }

  function advance(): void {
    if (last < LAST_PAIR) {
      last += 1
      return
    }
    last = 0
    if (middle < LAST_MIDDLE) {
      middle += 1
    } else if (upper < LAST_HALF) {
      middle = 0
      upper += 1
    } else {
      startAt(millisecond + 1)
      return
    }
    spellHead()
  }

  return (prefix, instant = now()) => {
    const at = toMillisecond(instant)
    if (at > millisecond) startAt(at)
    else advance()
    return `${prefix}_${head}${spellPair(last)}`
  }
}

/** What ten characters hold of a clock's answer, whatever it is. */
function toMillisecond(instant: number): number {
  return instant > 0 ? Math.min(Math.floor(instant), LAST_MILLISECOND) : 0
}

function readHalf(bits: DataView, offset: number): number {
  return bits.getUint8(offset) * 2 ** 32 + bits.getUint32(offset + 1)
}

function spellTime(millisecond: number): string {
  return spellPair(Math.floor(millisecond / 2 ** 40)) + spellHalf(millisecond % 2 ** 40)
}

function spellHalf(half: number): string {
  return spellPair(Math.floor(half / 2 ** 30)) + spellMiddle(half % 2 ** 30)
}

function spellMiddle(middle: number): string {
  return spellPair(middle >> 20) + spellPair((middle >> 10) & LAST_PAIR) + spellPair(middle & LAST_PAIR)
}

function spellPair(tenBits: number): string {
  return PAIRS[tenBits] ?? ''
}
