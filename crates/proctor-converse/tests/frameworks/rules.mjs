// What the fake models of all frameworks answer, so that the same scenarios have the same results.

/** The next step: `{call, arguments}` or `{say}`. `result` is that of the last tool, undefined after a message of the user. */
export function decide(users, result) {
  const last = users.at(-1);
  if (result !== undefined) return { say: `It is ${result}` };
  const asked = last.match(/^(weather|broken) in (.*)$/);
  if (asked) return { call: asked[1], arguments: { city: asked[2] } };
  if (last === 'fail') throw new Error('the model is down');
  return { say: `${users.length}: ${users.join(' ')}` };
}
