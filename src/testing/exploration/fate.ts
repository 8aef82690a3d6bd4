/** What happens to a process at a call. `pause`: it stands still before it, for longer than its lease. */
export type Fate = 'lives' | 'before' | 'after' | 'pause'

/** The rest of the sentence, as the story tells it. */
export const FATES: Readonly<Record<Exclude<Fate, 'lives'>, string>> = {
  before: 'dies before it',
  after: 'dies of it',
  pause: 'stands still before it, for longer than its lease',
}
