// What is nicer with a script: copying an address, and watching a site being read. Everything works without.
"use strict";

document.documentElement.classList.add("scripted");

const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

// Copies the address that a button stands for, and says so.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const label = button.textContent;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = "Copied";
  } catch {
    // Not allowed: then it is at least marked, ready to be copied by hand.
    getSelection().selectAllChildren(document.getElementById(button.getAttribute("aria-describedby")));
    button.textContent = "Marked";
  }
  await wait(2000);
  button.textContent = label;
});

// Adds each document to the list as it is read; when all are, the page as it is then takes the place of this one.
const watch = async (place) => {
  const list = place.querySelector("ol");
  const address = new URL(place.dataset.live, location.href);
  for (let done = false; !done; ) {
    address.searchParams.set("after", list.children.length);
    try {
      const answer = await (await fetch(address)).json();
      for (const text of answer.documents) {
        const item = document.createElement("li");
        item.textContent = text;
        list.append(item);
      }
      done = answer.done;
    } catch {
      await wait(2000);
    }
    if (!done) await wait(300);
  }
  const text = await (await fetch(location.href)).text();
  const page = new DOMParser().parseFromString(text, "text/html");
  document.title = page.title;
  const main = page.querySelector("main");
  document.querySelector("main").replaceWith(main);
  main.focus();
  begin();
};

const begin = () => document.querySelectorAll("[data-live]").forEach(watch);
begin();
