/** The number of the next chunk of a stream, as one item of `Last-Event-ID`: `draft=12`. */
export function streamPosition(key: string, next: number | ''): string {
  // Half of a surrogate pair has no bytes.
  return `${encodeURIComponent(key.replace(/\p{Surrogate}/gu, '\uFFFD'))}=${next}`
}
