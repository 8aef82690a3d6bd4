/** A filter by tags. */
export interface TagFilter {
  /**
   * What has any of these tags.
   *
   * @default all
   */
  readonly tags?: string | readonly string[]
  /**
   * Another name of `tags`. Excludes it.
   *
   * @default all
   */
  readonly tag?: string | readonly string[]
}

export const TAG_NAMES = { tags: true, tag: true } as const

/**
 * The tags of a filter, under whichever name.
 *
 * @throws TypeError for both names.
 */
export function wantedTags({ tags, tag }: TagFilter): string | readonly string[] | undefined {
  if (tags !== undefined && tag !== undefined)
    throw new TypeError('Cannot filter by `tags` and by `tag`: they are two names of one filter')
  return tags === undefined ? tag : tags
}
