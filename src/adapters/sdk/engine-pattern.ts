/** A cron pattern of the hosted service: `5L` is the last Friday of the month, and `?` is any day. What is no text is refused later. */
export function enginePattern(pattern: string): string {
  return typeof pattern === 'string'
    ? pattern.replaceAll('?', '*').replace(/\b([0-7])L\b/gi, '$1#L')
    : pattern
}
