import { GatheredBytes } from './gathered-bytes.ts'
import { Refusal } from '../refusal.ts'

/** Refuses a body that is announced as too large before any of it is read. */
export function checkAnnouncedLength(request: Request, limitBytes: number): void {
  if (Number(request.headers.get('content-length')) > limitBytes) throw tooLarge()
}

const framed = new WeakSet<Request>()

/** A server has this request, which takes no more of its body than its `content-length` says. */
export function trustLength(request: Request): void {
  framed.add(request)
}

/**
 * Reads a whole body. What counts is what arrives: a missing or lying `content-length` changes nothing. Where a server
 * sees to it that it does not lie, the body is read at once: piece by piece takes twice as long as all else.
 */
export async function readBody(request: Request, limitBytes: number): Promise<Uint8Array> {
  const isFramed = framed.has(request) && !request.bodyUsed
  const length = isFramed ? request.headers.get('content-length') : null
  if (length !== null && Number(length) <= limitBytes) return readAtOnce(request)
  const reader = readerOf(request)
  if (reader === undefined) return new Uint8Array()
  const body = new GatheredBytes()
  try {
    for (let chunk = await readChunk(reader); chunk !== undefined; chunk = await readChunk(reader)) {
      if (body.size + chunk.byteLength > limitBytes) throw tooLarge()
      body.add(chunk)
    }
  } finally {
    // Not awaited: the source may take its time to stop, or for ever.
    reader.cancel().catch(ignore)
  }
  return body.take()
}

async function readAtOnce(request: Request): Promise<Uint8Array> {
  try {
    return new Uint8Array(await request.arrayBuffer())
  } catch (cause) {
    throw brokenOff(cause)
  }
}

/** The text of a body, which must be UTF-8. */
export function decodeText(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch (cause) {
    throw new Refusal(400, 'Cannot read the request body: it is not UTF-8', { cause })
  }
}

/** The JSON value of a text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Refusal(400, 'Invalid JSON', { cause })
  }
}

export type BodyReader = ReadableStreamDefaultReader<unknown>

/** What reads a body piece by piece; nothing when there is none. */
export function readerOf({ body }: Request): BodyReader | undefined {
  if (body === null) return undefined
  if (body.locked) throw new Refusal(400, 'Cannot read the request body: something else has read it')
  return body.getReader()
}

/** The next bytes, `undefined` at the end. @throws Refusal 400 for a body that breaks off. */
export async function readChunk(reader: BodyReader): Promise<Uint8Array | undefined> {
  try {
    const { done, value } = await reader.read()
    if (done) return undefined
    if (value instanceof Uint8Array) return value
  } catch (cause) {
    throw brokenOff(cause)
  }
  throw new Refusal(400, 'Cannot read the request body: it is not made of bytes')
}

function brokenOff(cause: unknown): Refusal {
  return new Refusal(400, 'Cannot read the request body: it broke off', { cause })
}

function tooLarge(): Refusal {
  return new Refusal(413, 'Request body too large')
}

function ignore(): void {
  // Nobody is left to be told.
}
