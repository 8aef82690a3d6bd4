import { boundJson } from './bounded-parts.ts'
import { GatheredBytes } from './gathered-bytes.ts'
import { Refusal } from '../refusal.ts'

/** Refuses a body whose announced length exceeds the limit, before any of it is read. */
export function checkAnnouncedLength(request: Request, limitBytes: number): void {
  if (Number(request.headers.get('content-length')) > limitBytes) throw tooLarge()
}

const framed = new WeakSet<Request>()

/** Counts in a body of so many bytes; the answer counts it out again. */
type BeginUpload = (bytes: number) => () => void

const uploads = new WeakMap<Request, BeginUpload>()
/** Bodies up to this length are not counted: a connection takes more. */
const UNCOUNTED_BYTES = 16_384

/** Whether the body of a request is to be counted while it is received. */
export function mayBeLarge({ method, headers }: Request): boolean {
  if (method === 'GET' || method === 'HEAD') return false
  const announced = headers.get('content-length')
  return announced === null || !(Number(announced) <= UNCOUNTED_BYTES)
}

/** From now on the body of a request is counted while it is received. */
export function countUpload(request: Request, begin: BeginUpload): void {
  uploads.set(request, begin)
}

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
  const begin = uploads.get(request)
  if (begin === undefined) return receive(request, limitBytes)
  const announced = Number(request.headers.get('content-length') ?? Number.NaN)
  const end = begin(announced < limitBytes ? announced : limitBytes)
  try {
    return await receive(request, limitBytes)
  } finally {
    end()
  }
}

async function receive(request: Request, limitBytes: number): Promise<Uint8Array> {
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
  if (body.size === 0 && isBrokenOff(request)) throw brokenOff(request.signal.reason)
  return body.take()
}

/** Its client left before its body was asked for: Node then says that it is empty. */
function isBrokenOff({ headers, signal }: Request): boolean {
  const hasBody = headers.has('transfer-encoding') || Number(headers.get('content-length')) > 0
  return hasBody && signal.aborted
}

async function readAtOnce(request: Request): Promise<Uint8Array> {
  try {
    return new Uint8Array(await request.arrayBuffer())
  } catch (cause) {
    throw brokenOff(cause)
  }
}

/**
 * The JSON value of a text.
 *
 * @throws Refusal 400 for a text that is not JSON; 413 for one with too many parts.
 */
export function parseJson(text: string): unknown {
  boundJson(text)
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
