// Tool calls in order, whose results may come later. Readers of all frameworks collect them here.

import { call } from './answer.mjs';

export class Calls {
  #calls = [];
  #byId = new Map();

  add(name, given, id, more) {
    const made = call(name, given, id, more);
    this.#calls.push(made);
    if (id) this.#byId.set(String(id), made);
  }

  finish(id, more) {
    const made = this.#byId.get(String(id));
    if (made) Object.assign(made, more);
  }

  get all() {
    return [...this.#calls];
  }

  get made() {
    return this.#calls.filter((one) => 'result' in one || 'error' in one);
  }

  get asked() {
    return this.#calls.filter((one) => !('result' in one || 'error' in one));
  }
}

/** `undefined` is no JSON: a tool that gives nothing gives null. */
export const given = (result) => (result === undefined ? null : result);
