/** The properties of an object that have a value. */
export type Present<Given> = { [Key in keyof Given]?: Exclude<Given[Key], undefined> }

/** Leaves out the properties without a value: options that were not given. */
export function present<Given extends object>(given: Given): Present<Given> {
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as Present<Given>
}
