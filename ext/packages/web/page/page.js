// The page: a picture, a list that is asked, sizes, and SQL. Everything shown is computed by the
// extension, in workers, so that nothing stops the page.

async function start() {
  try {
    startWriting();
    await startAsking();
    const tools = await openDatabase();
    [[element("version").textContent]] = await rowsOf(tools, "SELECT bloom_version()");
    await startPicture(tools);
    await startChoosing(tools);
    document.body.dataset.ready = "yes";
  } catch (error) {
    showProblem("list-problem", `The page could not start: ${error.message}`);
    throw error;
  }
}

start();
// For the test of the page alone.
globalThis.bloomPage = { openDatabase, probesOf, isSet, shown: () => lastShown };
