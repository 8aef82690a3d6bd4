/** Metadata that an attempt has changed and storage has not acknowledged: whatever the attempt writes takes it along. */
export class UnsavedMetadata {
  #json: string | undefined

  /** All metadata of the run, as JSON text; nothing when storage has it already. */
  get json(): string | undefined {
    return this.#json
  }

  put(json: string): void {
    this.#json = json
  }

  /** Storage has `json`; what was changed since is still to be saved. */
  saved(json: string): void {
    if (this.#json === json) this.#json = undefined
  }
}
