import { GatheredBytes } from './gathered-bytes.ts'
import { Refusal } from '../refusal.ts'

/** Refuses a body whose announced length exceeds the limit, before any of it is read. */
export function checkAnnouncedLength(request: Request, limitBytes: number): void {
  if (Number(request.headers.get('content-length')) > limitBytes) throw tooLarge()
}

const framed = new WeakSet<Request>()

/** Marks a request of a server that enforces `content-length`. */
export function trustLength(request: Request): void {
  framed.add(request)
}

/**
 * Reads a whole body. The received bytes are counted, so a missing or false `content-length` changes nothing. If the
 * server enforces `content-length`, the body is read at once, because reading piece by piece takes twice the time of
 * all other work.
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
    // Not awaited: the source may take long to stop, or never stop.
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

/**
 * The text of a body.
 *
 * @throws Refusal 400 for a body that is not UTF-8.
 */
export function decodeText(body: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch (cause) {
    throw new Refusal(400, 'Cannot read the request body: it is not UTF-8', { cause })
  }
}

/**
 * The JSON value of a text.
 *
 * @throws Refusal 400 for a text that is not JSON.
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new Refusal(400, 'Invalid JSON', { cause })
  }
}

export type BodyReader = ReadableStreamDefaultReader<unknown>

/** A reader for the pieces of a body, or `undefined` for a request without a body. */
export function readerOf({ body }: Request): BodyReader | undefined {
  if (body === null) return undefined
  if (body.locked) throw new Refusal(400, 'Cannot read the request body: it was read already')
  return body.getReader()
}

/**
 * The next bytes, or `undefined` at the end.
 *
 * @throws Refusal 400 for a body that breaks off.
 */
export async function readChunk(reader: BodyReader): Promise<Uint8Array | undefined> {
  try {
    const { done, value } = await reader.read()
    if (done) return undefined
    if (value instanceof Uint8Array) return value
  } catch (cause) {
    throw brokenOff(cause)
  }
  throw new Refusal(400, 'Cannot read the request body: it does not consist of bytes')
}

function brokenOff(cause: unknown): Refusal {
  return new Refusal(400, 'Cannot read the request body: it broke off', { cause })
}

function tooLarge(): Refusal {
  return new Refusal(413, 'Request body too large')
}

function ignore(): void {
  // The client has disconnected, so the failure has no receiver.
}
